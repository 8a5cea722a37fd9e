"""Parts of worlds that need no engine: leases, walls, and reading what a service exports."""

from __future__ import annotations

import fcntl
import io
import itertools
import json
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena_kit.environment.records import Fault
from arena_kit.errors import PlatformFault
from arena_kit.rollout.attempt import Work, attempt_judge
from arena_kit.rollout.exports.state import ExportRefused
from arena_kit.rollout.judge import TaskOutcome
from arena_kit.rollout.packages.compose import Service
from arena_kit.rollout.worlds import fetching
from arena_kit.rollout.worlds.built import BuiltPackage, BuiltService
from arena_kit.rollout.worlds.fetching import files_of
from arena_kit.rollout.worlds.leases import MOST_STARTS, Leases, NoRoom
from arena_kit.rollout.worlds.walls import kernel_calls, pause_options, service_options
from arena_kit.tests.rollout.test_judge import task

LINK, DEVICE = tarfile.SYMTYPE, tarfile.CHRTYPE


def tar(*entries: tuple[str, bytes | None], kind: bytes = tarfile.REGTYPE) -> Iterator[bytes]:
    """A tar as the engine sends it: folders have no content."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.type = tarfile.DIRTYPE if content is None else kind
            entry.size = len(content or b"") if kind == tarfile.REGTYPE else 0
            archive.addfile(entry, io.BytesIO(content or b""))
    yield from (data.getvalue()[at : at + 700] for at in range(0, len(data.getvalue()), 700))


def test_an_exported_folder_and_a_single_file_are_read_by_name() -> None:
    folder = tar(
        ("export/", None), ("export/a.csv", b"id\n1\n"), ("export/deep", None), ("export/deep/b.csv", b"x" * 3000)
    )
    assert files_of(folder, "csv") == {"a.csv": b"id\n1\n", "deep/b.csv": b"x" * 3000}
    assert files_of(tar(("notes.sqlite", b"data")), "sqlite") == {"notes.sqlite": b"data"}


@pytest.mark.parametrize(
    ("pieces", "kind", "code"),
    [
        (tar(("export/a", b""), kind=LINK), "file", "bad_export"),
        (tar(("export/a", b""), kind=DEVICE), "file", "bad_export"),
        (tar(("export/a.txt", b"")), "csv", "bad_export"),
        (tar(("export/../../etc/passwd", b"")), "file", "bad_export"),
        (tar(("export/\x1b[2J.csv", b"")), "csv", "bad_export"),
        (tar(("export/a", b"12345"), ("export/b", b"123456")), "file", "export_too_large"),
        (iter([next(tar(("export/a", b"x" * 5000)))]), "file", "bad_export"),
    ],
)
def test_an_export_of_anything_else_is_refused(pieces: Iterator[bytes], kind: str, code: str) -> None:
    with pytest.raises(ExportRefused) as caught:
        files_of(pieces, kind, most_bytes=10 if code == "export_too_large" else 1 << 20)
    assert caught.value.code == code


def header(kind: bytes, size: int) -> bytes:
    """A block of a tar that announces so many bytes."""
    entry = tarfile.TarInfo("x")
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.GNU_FORMAT)


def without_end(block: bytes, taken: list[int]) -> Iterator[bytes]:
    """What a service prints that never stops; what was taken of it is counted."""
    while True:
        taken[0] += len(block)
        assert taken[0] < 40 << 20, "Nothing stops the reader."
        yield block


@pytest.mark.parametrize(
    ("begin", "again", "most", "code"),
    [
        # A header that is read whole, as large as it says.
        (header(tarfile.XHDTYPE, 8 << 30), bytes(1 << 20), 1 << 20, "bad_export"),
        (header(tarfile.GNUTYPE_LONGNAME, 8 << 30), b"a" * (1 << 20), 1 << 20, "bad_export"),
        # Entries that hold nothing and never end.
        (b"", header(tarfile.DIRTYPE, 0) * 64, 3 << 20, "export_too_large"),
        # Headers of headers, one within the other.
        (b"", (header(tarfile.XHDTYPE, 0) * 64), 1 << 20, "bad_export"),
        # A list of holes without an end: it is read block by block into memory.
        (
            header(tarfile.XHDTYPE, 512) + b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n".ljust(512, b"\0")
            + header(tarfile.REGTYPE, 512) + b"999999999\n".ljust(512, b"1"),
            b"1\n" * (1 << 16), 3 << 20, "export_too_large",
        ),
    ],
)  # fmt: skip
def test_a_tar_that_a_hostile_service_writes_takes_little_memory(
    begin: bytes, again: bytes, most: int, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "OVERHEAD_BYTES", 1 << 20)
    taken = [0]
    with pytest.raises(ExportRefused) as caught:
        files_of(itertools.chain([begin], without_end(again, taken)), "file", most_bytes=1 << 20)
    assert caught.value.code == code
    assert taken[0] <= most


@pytest.mark.parametrize("sparse", ["GNU.sparse.map=x", "GNU.sparse.size=", "size=-1"])
def test_a_header_that_no_program_writes_is_a_bad_export(sparse: str) -> None:
    record = f"{len(sparse) + 4} {sparse}\n".encode()
    hostile = header(tarfile.XHDTYPE, len(record)) + record.ljust(512, b"\0") + header(tarfile.REGTYPE, 0)
    with pytest.raises(ExportRefused) as caught:
        files_of(iter([hostile, bytes(10240)]), "file")
    assert caught.value.code == "bad_export"


def test_memory_is_reserved_until_a_lease_ends_or_its_process_dies(tmp_path: Path) -> None:
    leases = Leases(tmp_path, 100 << 20)
    first, second = leases.take(60 << 20), leases.take(40 << 20)
    with pytest.raises(NoRoom, match=r"needs 1 MiB, and 100 of 100 MiB are in use"):
        leases.take(1 << 20)
    first.end()
    assert leases.alive() == {second.token}
    fcntl.flock(second._descriptor, fcntl.LOCK_UN)
    assert (leases.reserved_bytes(), leases.alive()) == (0, frozenset())
    assert leases.name == Leases(tmp_path, 0).name


def test_a_folder_has_a_name_even_if_a_process_dies_while_it_gives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: Path, _: str) -> int:
        self.touch()
        raise KeyboardInterrupt

    leases = Leases(tmp_path, 0)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", killed)
        with pytest.raises(KeyboardInterrupt):
            str(leases.name)
    assert leases.name


def test_few_worlds_start_at_a_time(tmp_path: Path) -> None:
    leases, later = Leases(tmp_path, 0), time.monotonic() + 60
    taken = [leases.start(later) for _ in range(MOST_STARTS)]
    for each in taken:
        each.__enter__()
    with pytest.raises(PlatformFault) as caught, leases.start(0.0):
        pass
    assert caught.value.code == "starts_busy"
    taken[0].__exit__(None, None, None)
    with leases.start(later):
        pass
    taken[1].__exit__(None, None, None)


def test_containers_of_a_world_have_no_rights_and_no_network_but_loopback() -> None:
    service = Service("web", "base:python", command=("python3",), environment={"A": "b"}, tmpfs={"/tmp": 1 << 20})
    pause = pause_options("sha256:1", ("web", "db"), {"a": "b"}, "p")
    options = service_options(BuiltService(service, "sha256:2", {"A": "a", "C": "c"}), "ID", {"a": "b"}, "w")
    assert pause["network_mode"] == "none"
    assert pause["extra_hosts"] == {"web": "127.0.0.1", "db": "127.0.0.1"}
    assert options["network_mode"] == "container:ID"
    assert options["environment"] == {"A": "b", "C": "c"}
    for each in (pause, options):
        assert each["cap_drop"] == ["ALL"]
        assert each["security_opt"][0] == "no-new-privileges"
        assert each["mem_limit"] == each["memswap_limit"]
        assert not each.keys() & {"volumes", "mounts", "devices", "privileged", "ports", "cap_add", "pid_mode"}
    allowed = {name for rule in json.loads(kernel_calls())["syscalls"] for name in rule["names"]}
    assert "shmget" in allowed
    assert not allowed & {"mount", "ptrace", "bpf", "keyctl", "unshare", "setns", "add_key", "io_uring_setup"}


def test_what_an_attempt_has_left_is_judged_again_to_the_same_verdict() -> None:
    built = BuiltPackage("", "shop", (), (), 0, fresh={"note.csv": b"id:integer:key,text\n1,a\n"})
    note = task(checks=[{"kind": "sql", "query": "SELECT text FROM note WHERE id = 2", "value": "b"}])
    left = {"note.csv": b"id:integer:key,text\n1,a\n2,b\n"}
    verdicts = {attempt_judge(built, note, Work(None, "SUCCESS"), left) for _ in range(3)}
    assert [each.outcome for each in verdicts] == [TaskOutcome.SOLVED]
    broken = attempt_judge(built, note, Work(None, "SUCCESS"), {"note.csv": b"\xff"})
    assert (broken.fault, broken.code) == (Fault.PLATFORM, "bad_export")
