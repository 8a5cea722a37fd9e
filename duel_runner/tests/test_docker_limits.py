"""What a hostile player meets in a real container: each wall is tried from inside."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest
from django.conf import settings

from duel_runner.sandbox.base import Ending, Launch, PlayerDidNotStart
from duel_runner.sandbox.docker import FIRST_PLAYER_UID, PIDS_LIMIT, PLAYER_UID_COUNT, TMP_BYTES, DockerSandbox
from duel_runner.tests.docker_probes import (
    CHILD_MEMORY_BOMB,
    FLOOD,
    FORK_BOMB,
    MEMORY_BOMB,
    PROBE,
    REFUSED_CALLS,
    REFUSED_FILES,
    REFUSED_SOCKETS,
)
from environments.spec import Limits

pytestmark = pytest.mark.docker
LIMITS = Limits(memory_limit_bytes=256 << 20, start_seconds=60.0)
LABELS = {"arena.test": "limits"}
Results = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def channels() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    yield folder
    shutil.rmtree(folder)


def end_of(source: str, channels: Path, folder: Path, name: str, limits: Limits = LIMITS) -> PlayerDidNotStart:
    """Start a player that ends on its own while it is loaded; what it printed is in the answer."""
    folder.mkdir(parents=True)
    (folder / "player.py").write_text(source)
    sandbox = DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=channels)
    with pytest.raises(PlayerDidNotStart) as caught:
        sandbox.launch(Launch(f"folder:{folder}", name, limits, LABELS, core=0))
    assert list(channels.iterdir()) == []
    return caught.value


@pytest.fixture(scope="module")
def results(channels: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What the probes found inside the sandbox."""
    source = PROBE + "raise SystemExit\n"
    folder = tmp_path_factory.mktemp("probe") / "player"
    log = end_of(source, channels, folder, "arena-test-probe", replace(LIMITS, log_limit_bytes=1 << 20)).log
    found: Results = json.loads(next(line for line in log.splitlines() if line.startswith("{")))
    return found


def test_numpy_threads_processes_and_local_sockets_work(results: Results) -> None:
    working = {
        "numpy": 8_000_000, "threads": 8, "subprocess": "42", "asyncio": "awake", "unix_sockets": "x",
        "temporary_file": 1,
    }  # fmt: skip

    assert {name: results[name] for name in working} == {name: {"done": value} for name, value in working.items()}


def test_the_player_is_nobody_and_can_become_nobody_else(results: Results) -> None:
    (uid,) = set(results["uid"]["done"])
    assert FIRST_PLAYER_UID <= uid < FIRST_PLAYER_UID + PLAYER_UID_COUNT
    assert set(results["groups"]["done"]) <= {uid}
    assert [results[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")] == [{"done": 0}] * 5
    assert (results["NoNewPrivs"], results["Seccomp"]) == ({"done": "1"}, {"done": "2"})
    assert results["setuid_root"] == results["setgroups"] == {"refused": "EPERM"}
    assert results["setuid_program"] == {"done": ""}


def test_the_container_tells_nothing_of_the_host(results: Results) -> None:
    assert results["hostname"] == {"done": "player"}
    assert not [name for name in results["environment"]["done"] if name.startswith(("ARENA", "PIP", "DOCKER"))]


def test_there_is_no_network(results: Results) -> None:
    assert results["interfaces"] == {"done": ["lo"]}
    assert {name: results[name] for name in REFUSED_SOCKETS} == {name: {"refused": "EPERM"} for name in REFUSED_SOCKETS}
    assert "refused" in results["name_resolution"]


@pytest.mark.parametrize("call", REFUSED_CALLS)
def test_a_call_that_no_player_needs_is_refused(call: str, results: Results) -> None:
    assert results[call] == {"refused": "EPERM"}


@pytest.mark.parametrize("place", REFUSED_FILES)
def test_nothing_but_the_temporary_folder_can_be_written(place: str, results: Results) -> None:
    assert "refused" in results[place]


def test_the_temporary_folder_is_bounded_and_runs_nothing(results: Results) -> None:
    assert results["tmp_bytes_end"] == results["tmp_files_end"] == {"refused": "ENOSPC"}
    assert TMP_BYTES // 2 < results["tmp_bytes"]["done"] <= TMP_BYTES
    assert results["tmp_files"]["done"] < 4096
    assert results["one_file_end"] == {"refused": "EFBIG"}
    assert results["one_file"]["done"] == 32 << 20
    assert results["run_from_tmp"] == {"refused": "EACCES"}


def test_open_files_and_processes_are_bounded(results: Results) -> None:
    assert results["open_files_end"] == {"refused": "EMFILE"}
    assert results["open_files"]["done"] < 256
    assert "refused" in results["raise_open_files"]
    assert results["processes_end"] == {"refused": "EAGAIN"}
    assert results["processes"]["done"] < PIDS_LIMIT
    assert results["core_size"] == {"done": [0, 0]}


def test_the_player_stays_on_its_core(results: Results) -> None:
    assert results["cores"] == {"done": [0]}


def test_the_supervisor_cannot_be_read_or_stopped(results: Results) -> None:
    for name in ("supervisor_memory", "supervisor_environment", "supervisor_files"):
        assert "refused" in results[name]
    assert results["supervisor_killed"]["done"] in {"S", "R"}


def test_the_probes_do_see_open_doors_in_an_ordinary_container(results: Results) -> None:
    client = docker.from_env(timeout=60)
    try:
        output = client.containers.run(
            settings.PLAYER_BASE_IMAGE, ["python3", "-c", PROBE], network_mode="none", remove=True, mem_limit="512m",
            pids_limit=PIDS_LIMIT, security_opt=["seccomp=unconfined"],
        )  # fmt: skip
    finally:
        client.close()
    ordinary: Results = json.loads(output)

    assert ordinary.keys() >= results.keys() - {"tmp_bytes_end", "tmp_files_end", "one_file_end", "open_files_end"}
    opened = {name for name, result in ordinary.items() if result != results.get(name)}
    assert opened >= {
        "uid", "CapEff", "NoNewPrivs", "Seccomp", "setuid_program", "tcp", "udp", "netlink", "keyctl", "io_uring_setup",
        "shmget", "inotify_init1", "flock", "write /", "write /usr/", "write /dev/shm/", "run_from_tmp", "tmp_bytes",
        "tmp_files", "one_file", "open_files", "raise_open_files",
    }  # fmt: skip


@pytest.mark.parametrize("source", [MEMORY_BOMB, CHILD_MEMORY_BOMB], ids=["alone", "with children"])
def test_a_memory_bomb_ends_out_of_memory(source: str, channels: Path, tmp_path: Path) -> None:
    end = end_of(source, channels, tmp_path / "player", "arena-test-memory")

    assert end.ending is Ending.OUT_OF_MEMORY
    assert "filling" in end.log


def test_a_fork_bomb_is_contained_and_removed(channels: Path, tmp_path: Path) -> None:
    limits = replace(LIMITS, start_seconds=2.0)

    end = end_of(FORK_BOMB, channels, tmp_path / "player", "arena-test-fork", limits)

    assert end.ending is Ending.RUNNING
    assert "forking" in end.log
    client = docker.from_env(timeout=60)
    try:
        assert client.containers.list(all=True, filters={"name": "arena-test-fork"}) == []
    finally:
        client.close()


def test_a_flood_of_output_is_cut(channels: Path, tmp_path: Path) -> None:
    limits = replace(LIMITS, log_limit_bytes=10_000)

    log = end_of(FLOOD, channels, tmp_path / "player", "arena-test-flood", limits).log

    assert 10_000 <= len(log) <= 10_000 + 256
    assert " bytes cut]" in log
    assert "the end" in log
