"""Container images of other people: what is taken of their files, and which of them cannot be played."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable

import pytest

from arena_kit.image.errors import BuildFailed
from arena_kit.image.flatten import Flattening

PROGRAM = b"\x7fELF\x02\x01\x01" + bytes(11) + (0x3E).to_bytes(2, "little") + b"the rest of it"
OTHER_MACHINE = PROGRAM[:18] + (0xB7).to_bytes(2, "little")
Entry = tuple[str, object]


def folder(name: str) -> Entry:
    return name, None


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> Entry:
    return name, (target, kind)


SYSTEM: tuple[Entry, ...] = (
    folder("etc"), ("etc/os-release", b'ID=debian\nVERSION_ID="12"\n'), link("bin", "usr/bin"), folder("usr/bin"),
    ("usr/bin/dash", PROGRAM), link("usr/bin/sh", "dash"), ("usr/bin/python3.11", PROGRAM),
    link("usr/bin/python3", "python3.11"),
    ("var/lib/dpkg/status", b"Package: dash\nStatus: install ok installed\nVersion: 1\nArchitecture: amd64\n\n"),
    folder("usr/lib/python3/dist-packages/numpy-2.1.0.dist-info"),
)  # fmt: skip
PLAYER: tuple[Entry, ...] = (folder("app"), ("app/player.py", b"class Player: ..."))


def exported(entries: Iterable[Entry]) -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, what in entries:
            entry = tarfile.TarInfo(name)
            entry.mode, entry.uid, entry.uname, entry.mtime = 0o4711, 1000, "root", 12
            entry.pax_headers = {"SCHILY.xattr.security.capability": "all"}
            if isinstance(what, bytes):
                entry.size = len(what)
                tar.addfile(entry, io.BytesIO(what))
                continue
            entry.type = tarfile.DIRTYPE
            if isinstance(what, tuple):
                entry.linkname, entry.type = what
            tar.addfile(entry)
    file.seek(0)
    return file


def flatten(*entries: Entry, most_bytes: int = 1 << 20, most_files: int = 1000) -> tuple[Flattening, bytes]:
    flattening = Flattening(exported(entries), machine="amd64", most_bytes=most_bytes, most_files=most_files)
    return flattening, b"".join(flattening.pieces())


def refusal(*entries: Entry, wanted: str = "") -> str:
    with pytest.raises(BuildFailed) as refused:
        flatten(*entries)[0].layout(wanted)
    assert refused.value.code == "image_not_playable"
    return str(refused.value)


def test_the_player_python_and_packages_of_an_image_are_found() -> None:
    layout = flatten(*SYSTEM, *PLAYER)[0].layout()
    assert (layout.folder, layout.path, layout.contents.interpreter) == ("/app", "/usr/bin", "3.11")
    assert (layout.contents.system, layout.contents.system_version) == ("debian", "12")
    assert layout.contents.debian == (("dash", "1", "amd64"),)
    assert layout.contents.python == {"numpy": "2.1.0"}


def test_files_keep_their_content_and_time_and_lose_owners_rights_and_attributes() -> None:
    _, layer = flatten(
        *SYSTEM, *PLAYER, ("tmp/x", b"x"), ("etc/hosts", b"1.2.3.4 here"), link("channel", "/etc"),
        link("dev/sda", "", tarfile.BLKTYPE), link("a/pipe", "", tarfile.FIFOTYPE),
        link("app/same", "app/player.py", tarfile.LNKTYPE), link("a/gone", "a/pipe", tarfile.LNKTYPE),
    )  # fmt: skip
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        found = {one.name: one for one in tar}
        assert not {"tmp/x", "etc/hosts", "channel", "dev/sda", "a/pipe", "a/gone"} & set(found)
        player = found["app/player.py"]
        assert (player.mode, player.uid, player.uname, player.mtime) == (0o755, 0, "", 12)
        assert not any(one.mode & 0o7000 or one.pax_headers for one in found.values())
        assert found["app/same"].linkname == "app/player.py"
        content = tar.extractfile(player)
        assert content is not None
        assert content.read() == b"class Player: ..."


@pytest.mark.parametrize(
    ("entries", "wanted", "folder_found"),
    [
        ((("player/main.py", b""), *PLAYER), "", "/player"),
        ((folder("home/me"), ("home/me/agent.py", b"")), "", "/home/me"),
        ((("srv/code/player.py", b""),), "/srv/code", "/srv/code"),
        ((link("app", "/srv/../opt/mine"), folder("opt/mine"), ("opt/mine/player.py", b"")), "", "/opt/mine"),
    ],
)
def test_the_folder_of_the_player_is_the_first_of_a_list_or_named_by_a_label(
    entries: tuple[Entry, ...], wanted: str, folder_found: str
) -> None:
    parents = [folder(name) for name in ("player", "srv", "srv/code", "home", "opt") if name not in dict(entries)]
    wanted_player = any(name.startswith("player/") for name, _ in entries)
    system = [*SYSTEM, *(one for one in parents if one[0] != "player" or wanted_player)]
    assert flatten(*system, *entries)[0].layout(wanted).folder == folder_found


def test_an_environment_of_python_comes_before_the_one_below_it() -> None:
    extra = (
        folder("opt"),
        folder("opt/venv"),
        folder("opt/venv/bin"),
        link("opt/venv/bin/python3", "/usr/bin/python3"),
    )
    assert flatten(*SYSTEM, *PLAYER, *extra)[0].layout().path == "/opt/venv/bin"


def without(*names: str) -> list[Entry]:
    return [entry for entry in SYSTEM if entry[0] not in names]


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ((*without("usr/bin/python3"), *PLAYER), "no Python"),
        ((*without("usr/bin/python3.11"), ("usr/bin/python3.11", b"#!/bin/sh\nsleep 1000"), *PLAYER), "no Python"),
        ((*without("usr/bin/python3.11"), ("usr/bin/python3.11", OTHER_MACHINE), *PLAYER), "for this machine"),
        ((*without("usr/bin/python3"), link("usr/bin/python3", "python3"), *PLAYER), "no Python"),
        ((*without("usr/bin/python3"), ("usr/bin/python3.7", PROGRAM), link("usr/bin/python3", "python3.7"), *PLAYER),
         "Its Python is 3.7"),
        ((*without("usr/bin/python3"), ("usr/bin/python3", PROGRAM), *PLAYER), "no Python"),
        ((*without("usr/bin/sh"), *PLAYER), "/bin/sh"),
        ((*without("etc", "etc/os-release"), ("etc", b"a file"), *PLAYER), "/etc is not a folder"),
        (SYSTEM, "no player.py"),
        ((*SYSTEM, link("app", "/"), ("player.py", b"")), "no player.py"),
        ((*SYSTEM, link("app", "/proc/1/root")), "no player.py"),
        ((*SYSTEM, link("app", "app2"), link("app2", "app")), "no player.py"),
        ((*SYSTEM, folder("app"), folder("app/player.py")), "no player.py"),
        ((*SYSTEM, folder("player"), *PLAYER), "/player is there"),
        ((*SYSTEM, *PLAYER, ("app/.wh.player.py", b"")), "would remove"),
    ],
)  # fmt: skip
def test_images_that_cannot_be_played_are_refused_with_the_reason(entries: tuple[Entry, ...], says: str) -> None:
    assert says in refusal(*entries)


def test_images_with_too_much_are_refused_while_they_are_read() -> None:
    with pytest.raises(BuildFailed, match="more than 5 files"):
        flatten(*SYSTEM, *PLAYER, most_files=5)
    with pytest.raises(BuildFailed, match="more than 0 MiB"):
        flatten(*SYSTEM, *PLAYER, ("app/weights", bytes(2000)), most_bytes=1000)


def test_a_name_that_leaves_the_root_stays_in_it() -> None:
    _, layer = flatten(*SYSTEM, *PLAYER, ("../../outside", b"x"), ("/absolute", b"x"))
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        assert {"outside", "absolute"} <= set(tar.getnames())
