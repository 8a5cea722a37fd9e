"""Makes one plain layer of a container image from elsewhere, and finds the player in it. No file is run.

The files come as an engine exports them, in one tar. Owners, rights above read and execute, extended attributes,
devices and what the arena mounts are left out, so nothing of the image counts but its files.
"""

from __future__ import annotations

import posixpath
import re
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from arena_kit.image.errors import BuildFailed
from arena_kit.image.inventory import Inventory
from arena_kit.image.layer import WHITEOUT
from arena_kit.upload.archive import PLAYER_ENTRY_POINTS

MAX_FILES = 200_000
MOST_LINKS = 40
LEAST_PYTHON, NEXT_PYTHON = 8, 30
"""Minor versions of Python 3 that may start a player: the first for which the player server is written, and one beyond
all."""
PYTHON_FOLDERS = (
    "app/.venv/bin",
    "app/venv/bin",
    "opt/venv/bin",
    "venv/bin",
    "opt/conda/bin",
    "usr/local/bin",
    "usr/bin",
)
"""Where Python is looked for. Environments come first, because they use one of the others."""
PLAYER_FOLDERS = ("player", "app")
MOUNTED = frozenset({"channel", "dev", "model", "proc", "sys", "tmp", ".dockerenv"})
"""Files at the root that the arena or the engine provides."""
FROM_ENGINE = frozenset({"etc/hosts", "etc/hostname", "etc/resolv.conf"})
MACHINES = {"amd64": 0x3E, "arm64": 0xB7}
"""The number of a machine in the head of its programs (e_machine in elf.h), by the engine's name of it."""
HEAD_BYTES, LIST_BYTES, PIECE_BYTES = 20, 32 << 20, 1 << 20
READ = {"var/lib/dpkg/status": LIST_BYTES, "etc/os-release": 1 << 16, "usr/lib/os-release": 1 << 16}
"""Files that are read for the bill of materials, with the most bytes of each."""
_INSTALLED = re.compile(r"(?:.*/)?(?:site|dist)-packages/([A-Za-z0-9._]+)-([A-Za-z0-9.+!_]+)\.(?:dist|egg)-info")
_PYTHON = re.compile(r"python3\.(\d{1,3})")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where an image has what a player needs. folder: of its code. path: of the folder with Python. Both from /."""

    folder: str
    path: str
    contents: Inventory


class Flattening:
    """Reads an exported file system and gives it back as one plain layer."""

    def __init__(self, exported: IO[bytes], *, machine: str, most_bytes: int, most_files: int = MAX_FILES) -> None:
        """machine: the engine's name of its processor."""
        self._exported, self._machine = exported, MACHINES.get(machine)
        self._most_bytes, self._most_files = most_bytes, most_files
        self._links: dict[str, str | None] = {"": None}
        """The kind of a path: the target of a symbolic link, "" for a file, None for a folder."""
        self._programs: set[str] = set()
        self._read: dict[str, bytes] = {}
        self._installed: dict[str, str] = {}

    def pieces(self) -> Iterator[bytes]:
        """Yield the tar of the layer. Raises BuildFailed."""
        size = count = 0
        try:
            with tarfile.open(fileobj=self._exported, mode="r|") as tar:
                for entry in tar:
                    tar.members = []  # type: ignore[attr-defined]  # it would keep all of them
                    count, size = count + 1, size + entry.size
                    if size > self._most_bytes:
                        raise _refused(f"Its files have more than {self._most_bytes >> 20} MiB.")
                    if count > self._most_files:
                        raise _refused(f"It has more than {self._most_files} files.")
                    yield from self._kept(tar, entry)
        except (tarfile.TarError, UnicodeError) as error:
            raise BuildFailed(f"The files of the image cannot be read: {error}", code="image_unreadable") from None
        yield bytes(2 * tarfile.BLOCKSIZE)

    def layout(self, wanted: str = "") -> Layout:
        """Return where things are, after all pieces were read. wanted: folder of the player. Raises BuildFailed."""
        if self._links.get("etc", None) is not None:
            raise _refused("/etc is not a folder.")
        if self._resolved("bin/sh") not in self._programs:
            raise _refused("It has no /bin/sh for this machine, which starts the player.")
        path, minor = self._python()
        return Layout(self._player(wanted), f"/{path}", self._inventory(minor))

    def _kept(self, tar: tarfile.TarFile, entry: tarfile.TarInfo) -> Iterator[bytes]:
        name = posixpath.normpath(f"/{entry.name}").lstrip("/")
        if not name or name.partition("/")[0] in MOUNTED or name in FROM_ENGINE:
            return
        if posixpath.basename(name).startswith(WHITEOUT):
            raise _refused(f"The name of the file {name[:100]} would remove another file.")
        parent = posixpath.dirname(name)
        while parent not in self._links:
            self._links[parent] = None
            parent = posixpath.dirname(parent)
        plain = tarfile.TarInfo(name)
        plain.mtime, plain.type, plain.mode = int(entry.mtime), entry.type, 0o755
        content: IO[bytes] | None = None
        if entry.isdir():
            self._links[name] = None
            if found := _INSTALLED.fullmatch(name):
                self._installed.setdefault(re.sub(r"[-_.]+", "-", found[1]).lower(), found[2])
        elif entry.issym():
            self._links[name] = plain.linkname = entry.linkname or "."
        elif entry.islnk():
            plain.linkname = posixpath.normpath(f"/{entry.linkname}").lstrip("/")
            if self._links.get(plain.linkname) != "":
                return
            self._links[name] = ""
            if plain.linkname in self._programs:
                self._programs.add(name)
        elif entry.isreg():
            self._links[name] = ""
            plain.size, plain.type = entry.size, tarfile.REGTYPE
            plain.mode = 0o755 if entry.mode & 0o111 else 0o644
            content = tar.extractfile(entry)
        else:
            return
        yield plain.tobuf(tarfile.PAX_FORMAT)
        if content is not None:
            yield from self._content(name, plain, content)

    def _content(self, name: str, entry: tarfile.TarInfo, content: IO[bytes]) -> Iterator[bytes]:
        most, kept = READ.get(name, 0), b""
        piece = content.read(PIECE_BYTES)
        head = piece[:HEAD_BYTES]
        if entry.mode & 0o111 and head[:4] == b"\x7fELF" and int.from_bytes(head[18:20], "little") == self._machine:
            self._programs.add(name)
        while piece:
            kept = (kept + piece)[:most] if most else b""
            yield piece
            piece = content.read(PIECE_BYTES)
        if most:
            self._read[name] = kept
        yield bytes(-entry.size % tarfile.BLOCKSIZE)

    def _resolved(self, path: str) -> str | None:
        """Return the path of a file or folder without symbolic links, relative to the root; None if it is missing."""
        waiting, done, links = path.split("/")[::-1], "", 0
        while waiting:
            part = waiting.pop()
            if part in ("", "."):
                continue
            if part == "..":
                done = posixpath.dirname(done)
                continue
            step = f"{done}/{part}".lstrip("/")
            if step not in self._links:
                return None
            target = self._links[step]
            if not target:
                done = step
                continue
            links += 1
            if links > MOST_LINKS:
                return None
            if target.startswith("/"):
                done = ""
            waiting += target.split("/")[::-1]
        return done

    def _is_file(self, path: str) -> bool:
        found = self._resolved(path)
        return found is not None and self._links[found] == ""

    def _python(self) -> tuple[str, int]:
        """Return the folder of Python and its minor version. Raises BuildFailed."""
        old = 0
        for folder in PYTHON_FOLDERS:
            program = self._resolved(f"{folder}/python3")
            if program not in self._programs or program is None:
                continue
            minor = self._minor(program)
            if minor >= LEAST_PYTHON:
                return folder, minor
            old = old or minor
        if old:
            raise _refused(f"Its Python is 3.{old}; the arena needs 3.{LEAST_PYTHON} or newer.")
        names = ", ".join(f"/{folder}/python3" for folder in PYTHON_FOLDERS)
        raise _refused(f"It has no Python for this machine: none of {names} is a program.")

    def _minor(self, program: str) -> int:
        if named := _PYTHON.fullmatch(posixpath.basename(program)):
            return int(named[1])
        prefix = posixpath.dirname(posixpath.dirname(program))
        return next((n for n in range(NEXT_PYTHON, 0, -1) if self._is_file(f"{prefix}/lib/python3.{n}/os.py")), 0)

    def _player(self, wanted: str) -> str:
        """Return the folder with the player's code. Raises BuildFailed."""
        homes = sorted(name for name in self._links if name.startswith("home/") and name.count("/") == 1)
        folders: Sequence[str] = [wanted.strip("/")] if wanted else [*PLAYER_FOLDERS, *homes]
        for folder in folders:
            # Skip the root itself: the arena's files need a folder of their own beside the player.
            found = self._resolved(folder)
            if found and any(self._is_file(f"{found}/{name}") for name in PLAYER_ENTRY_POINTS):
                if found != "player" and "player" in self._links:
                    raise _refused("/player is there, but the player is in another folder.")
                return f"/{found}"
        shown = f"/{folders[0]}" if wanted else "/player, /app and /home/*"
        raise _refused(f"It has no {', '.join(PLAYER_ENTRY_POINTS)} in {shown}.")

    def _inventory(self, minor: int) -> Inventory:
        text = (self._read.get("etc/os-release") or self._read.get("usr/lib/os-release", b"")).decode(
            "utf-8", "replace"
        )
        release = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        packages = []
        for block in self._read.get("var/lib/dpkg/status", b"").decode("utf-8", "replace").split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if re.match(r"[A-Z][A-Za-z-]*: ", line))
            if fields.get("Status", "").endswith(" installed") and fields.get("Package") and fields.get("Version"):
                packages.append((fields["Package"], fields["Version"], fields.get("Architecture", "all")))
        system, version = (release.get(key, "").strip('"') for key in ("ID", "VERSION_ID"))
        return Inventory(system or "linux", version, f"3.{minor}", tuple(packages), dict(self._installed))


def _refused(sentence: str) -> BuildFailed:
    return BuildFailed(f"The arena cannot play this image. {sentence}", code="image_not_playable")
