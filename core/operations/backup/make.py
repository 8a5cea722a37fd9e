"""Makes a backup while the arena runs."""

from __future__ import annotations

import platform
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import django
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from core.files.storage import may_be_stored
from core.operations.backup.archive import (
    COPY,
    DATABASE,
    ENVIRONMENTS,
    FILES,
    FORMAT,
    BackupManifest,
    BackupWriter,
    unfinished_remove,
    writing,
)
from core.operations.backup.database import Dump, database_dump, database_kind, files_named
from core.operations.backup.errors import BackupError
from core.operations.backup.sealed import SUFFIX as SEALED

PREFIX, SUFFIX = "arena-", ".tar"


@dataclass(frozen=True, slots=True)
class Made:
    """A finished backup.

    gone: files that the arena deleted during the backup. missing: files that it had lost before. unread: by name, why
    the store did not give a file that it may still have.
    """

    path: Path
    file_count: int
    size_bytes: int
    gone: tuple[str, ...]
    missing: tuple[str, ...]
    unread: dict[str, str]


def backup_make(path: Path, *, now: datetime, recipient: str = "") -> Made:
    """Write a backup to a new file, or into a folder under a name made from the time. Raises BackupError.

    The database comes first, as it is at one moment, then every file that its rows name. Files are never changed, so
    both match, whatever workers finish meanwhile. Files that the store does not give are left out and reported. Last
    come the organisers' own environments, without which their matches can be neither drawn nor checked.
    recipient: a public key of age, to which the backup is encrypted. No plain byte is then written where it is stored.
    """
    suffix = SUFFIX + (SEALED if recipient else "")
    path = path / f"{PREFIX}{now.astimezone(UTC):%Y%m%dT%H%M%SZ}{suffix}" if path.is_dir() else path
    if path.exists():
        raise BackupError(f"{path} already exists, and backups are never overwritten.")
    if not path.parent.is_dir():
        raise BackupError(f"The folder {path.parent} does not exist.")
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise BackupError("The database is older than this code: run `manage.py migrate`, or use the matching code.")
    unfinished_remove(path.parent)
    with writing(path, recipient) as writer:
        # TMPDIR of an encrypted backup: the copy of the database is not encrypted yet.
        with tempfile.TemporaryDirectory(prefix=COPY, dir=None if recipient else path.parent) as folder:
            copy = Path(folder) / "database"
            dump = database_dump(copy)
            with copy.open("rb") as file:
                writer.add(DATABASE, file, copy.stat().st_size)
        lost: list[str] = []
        unread: dict[str, str] = {}
        for name in sorted(dump.files):
            try:
                _add(writer, name)
            except FileNotFoundError:
                lost.append(name)
            except _NotGiven as reason:
                unread[name] = str(reason)
        for file_path in _environment_files():
            _add_own(writer, file_path)
        # Files that rows no longer name were deleted since the dump.
        missing = sorted(files_named().intersection(lost)) if lost else []
        writer.finish(_manifest(writer, dump, sorted([*lost, *unread]), now))
    gone = tuple(name for name in lost if name not in missing)
    return Made(path, len(writer.parts) - 1, path.stat().st_size, gone, tuple(missing), unread)


def backups_thin(folder: Path, *, keep: int) -> list[Path]:
    """Delete all but the newest backups in a folder, by their names; return the deleted ones."""
    name = f"{PREFIX}????????T??????Z{SUFFIX}"
    old = sorted([*folder.glob(name), *folder.glob(name + SEALED)])[: -keep or None]
    for path in old:
        path.unlink()
    return old


def applied_migrations() -> dict[str, list[str]]:
    """Return the database's applied migrations by app."""
    found: dict[str, list[str]] = {}
    for app, name in sorted(MigrationRecorder(connection).applied_migrations()):
        found.setdefault(app, []).append(name)
    return found


def migrations_known() -> set[tuple[str, str]]:
    """Return the migrations of this code as app and name, with those that later ones replace."""
    on_disk = MigrationLoader(None).disk_migrations
    return {*on_disk, *(old for migration in on_disk.values() for old in migration.replaces)}


class _NotGiven(Exception):
    """The reason why the store does not give a file that it may have."""


def _add(writer: BackupWriter, name: str) -> None:
    """Copy a file from the store. Raises FileNotFoundError when it is not there, _NotGiven, and BackupError."""
    with ExitStack() as opened:
        try:
            size = default_storage.size(name)
            file = opened.enter_context(default_storage.open(name, "rb"))
            # Remote stores fetch the file here: after the part has begun, an error would spoil the backup.
            file.read(1)
            file.seek(0)
        except FileNotFoundError:
            raise
        # Each store raises its own errors, even for a missing file.
        except Exception as error:
            if not may_be_stored(name):
                raise FileNotFoundError(name) from error
            raise _NotGiven(f"{type(error).__name__}: {error}") from error
        writer.add(f"{FILES}{name}", file, size)


def _environment_files() -> list[Path]:
    """Return the files of the organisers' own environments, without links and what Python makes itself."""
    found = sorted(settings.ENVIRONMENTS_DIR.rglob("*")) if settings.ENVIRONMENTS_DIR.is_dir() else []
    return [path for path in found if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts]


def _add_own(writer: BackupWriter, path: Path) -> None:
    """Copy a file of an environment, which its organiser may change meanwhile. Raises BackupError."""
    with tempfile.TemporaryFile() as copy:
        try:
            with path.open("rb") as file:
                shutil.copyfileobj(file, copy)
        except OSError as error:
            raise BackupError(f"{path} cannot be read: {error.strerror}.") from error
        size = copy.tell()
        copy.seek(0)
        writer.add(f"{ENVIRONMENTS}{path.relative_to(settings.ENVIRONMENTS_DIR).as_posix()}", copy, size)


def _manifest(writer: BackupWriter, dump: Dump, lost: list[str], now: datetime) -> BackupManifest:
    applied, known = applied_migrations(), migrations_known()
    return BackupManifest(
        format=FORMAT,
        made_at=now.astimezone(UTC).isoformat(timespec="seconds"),
        versions={
            "python": platform.python_version(),
            "django": django.get_version(),
            "server": dump.server,
        },
        database=database_kind(),
        migrations=applied,
        ahead=sorted(f"{app}.{name}" for app, names in applied.items() for name in names if (app, name) not in known),
        parts=writer.parts,
        missing=lost,
    )
