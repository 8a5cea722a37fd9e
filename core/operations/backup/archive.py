"""The file of a backup: a tar with the dump, the stored files, and at the end the manifest that lists them.

It is not compressed: records and uploads are zips already, and every part can be read in place.
"""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from shutil import rmtree
from typing import IO, Any, cast

from arena_kit.machine.files import lock
from core.operations.backup.errors import BackupDamaged, BackupError
from core.operations.backup.sealed import sealing, unsealed

FORMAT = 1
MANIFEST, DATABASE = "manifest.json", "database"
FILES, ENVIRONMENTS = "files/", "environments/"
"""The names of stored files, and of those in the folder of the organisers' environments, begin with these."""
CHUNK_BYTES = 1 << 20
UNFINISHED, COPY = ".part", "arena-backup-"
"""The end of the name of a backup that is being written, and the beginning of that of its copy of the database."""
OWN = f"arena-????????T??????Z.tar*.[0-9]*{UNFINISHED}"
"""The names of backups that are being written, unless their makers chose names of their own."""


@dataclass(frozen=True, slots=True)
class BackupPart:
    """The expected content of a part of a backup. sha256: in hex."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """The content of a backup, and what made it.

    database: kind of the database. versions: of Python, Django and the database's server. migrations: applied ones by
    app. parts: by name in the file. missing: names of files that rows had, but the store did not give. ahead:
    migrations of a later release that were applied, as APP.NAME, while the release before it made the backup.
    """

    format: int
    made_at: str
    versions: dict[str, str]
    database: str
    migrations: dict[str, list[str]]
    parts: dict[str, BackupPart]
    missing: list[str]
    ahead: list[str] = field(default_factory=list)

    def encode(self) -> bytes:
        return json.dumps(asdict(self), indent=1, sort_keys=True).encode()

    @classmethod
    def decode(cls, data: bytes) -> BackupManifest:
        """Parse a manifest. Raises BackupDamaged, also for the format of a newer arena."""
        try:
            fields: dict[str, Any] = json.loads(data)
            if fields["format"] != FORMAT:
                raise BackupDamaged(
                    f"This backup has format {fields['format']}, and this arena reads format {FORMAT}: "
                    "restore it with the version of the arena that made it."
                )
            parts = {
                str(name): BackupPart(int(part["size_bytes"]), str(part["sha256"]))
                for name, part in fields.pop("parts").items()
            }
            return cls(**fields, parts=parts)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BackupDamaged("The manifest of this backup cannot be read.") from None


class Hashing:
    """A file that is hashed while it is read; `part` describes what was read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._size = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        self._size += len(data)
        return data

    @property
    def part(self) -> BackupPart:
        return BackupPart(self._size, self._hash.hexdigest())


def part_of(file: IO[bytes]) -> BackupPart:
    """Return size and hash of the rest of a file."""
    hashing = Hashing(file)
    while hashing.read(CHUNK_BYTES):
        pass
    return hashing.part


class BackupWriter:
    """A backup that is being written."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.parts: dict[str, BackupPart] = {}

    def add(self, name: str, file: IO[bytes], size: int) -> None:
        """Add a part of this size. Raises BackupError when the file turns out shorter or longer."""
        hashing = Hashing(file)
        try:
            self._tar.addfile(_header(name, size), cast(IO[bytes], hashing))
        # Each store raises its own errors.
        except Exception as error:
            raise BackupError(f"{name} could not be copied completely: {error}.") from error
        if file.read(1):
            raise BackupError(f"{name} has grown while it was copied, although the arena never changes its files.")
        self.parts[name] = hashing.part

    def finish(self, manifest: BackupManifest) -> None:
        data = manifest.encode()
        self._tar.addfile(_header(MANIFEST, len(data)), BytesIO(data))


def unfinished_remove(folder: Path) -> list[Path]:
    """Remove what killed backups have left in a folder, and return it; what a living one writes is locked.

    Only files with names of the arena's own are touched: the folder may hold others.
    """
    left = []
    for part in sorted(folder.glob(OWN)):
        with suppress(FileNotFoundError), part.open("rb") as file:
            if lock(file.fileno()):
                part.unlink()
                left.append(part)
    # Copies of the database belong to the parts; without one being written, none is in use.
    if not list(folder.glob(OWN)):
        for copy in sorted(folder.glob(f"{COPY}*")):
            rmtree(copy, ignore_errors=True)
            left.append(copy)
    return left


@contextmanager
def writing(path: Path, recipient: str = "") -> Iterator[BackupWriter]:
    """Open a new backup that only its owner can read; it gets its name when it is complete and on the disk.

    recipient: the public key to which all of it is encrypted; empty for none.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        part.touch(0o600, exist_ok=False)
        with part.open("wb") as file:
            # Held until the file is closed, also by a kill.
            lock(file.fileno())
            with (
                sealing(file, recipient) if recipient else nullcontext(file) as stream,
                # In order, because an encrypted stream cannot go back.
                tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar,
            ):
                yield BackupWriter(tar)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


class BackupReader:
    """A backup that is being read. Call `check` first: only then do its parts match the manifest."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        members = tar.getmembers()
        self._members = {member.name: member for member in members}
        if not members or members[-1].name != MANIFEST:
            raise BackupDamaged("This backup is incomplete: its manifest is missing. Use another one.")
        if len(self._members) != len(members) or not all(member.isreg() for member in members):
            raise BackupDamaged("This backup contains a name twice, or something that is not a file.")
        with self.open(MANIFEST) as file:
            self.manifest = BackupManifest.decode(file.read())

    def open(self, name: str) -> IO[bytes]:
        file = self._tar.extractfile(self._members[name])
        assert file is not None
        return file

    def check(self) -> None:
        """Read everything once. Raises BackupDamaged, naming what is missing, unknown or changed."""
        expected, found = set(self.manifest.parts), set(self._members) - {MANIFEST}
        if lacking := expected - found or ({DATABASE} - expected):
            raise BackupDamaged(f"{_some(lacking)} missing from this backup.")
        if foreign := found - expected:
            raise BackupDamaged(f"{_some(foreign)} in this backup, but not in its manifest.")
        for name, part in self.manifest.parts.items():
            with self.open(name) as file:
                if part_of(file) != part:
                    raise BackupDamaged(f"{name} has changed since this backup was made.")

    def files(self, kind: str = FILES) -> dict[str, BackupPart]:
        """The stored files, or those of environments: by name in their store or folder, the expected content."""
        return {name.removeprefix(kind): part for name, part in self.manifest.parts.items() if name.startswith(kind)}


@contextmanager
def reading(path: Path, identity: Path | None = None) -> Iterator[BackupReader]:
    """Open a backup and read its manifest. Raises BackupDamaged for an incomplete backup or another file.

    identity: a file with the private key of an encrypted backup.
    """
    try:
        with unsealed(path, identity) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            yield BackupReader(tar)
    except tarfile.TarError as error:
        raise BackupDamaged(f"{path} is not a complete backup: {error}. Use another one.") from error
    except FileNotFoundError:
        raise BackupDamaged(f"The file {path} does not exist.") from None


def _header(name: str, size: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mode, header.mtime = size, 0o600, int(time.time())
    return header


def _some(names: set[str]) -> str:
    shown = sorted(names)
    more = f" and {len(shown) - 3} more are" if len(shown) > 3 else " is" if len(shown) == 1 else " are"
    return ", ".join(shown[:3]) + more
