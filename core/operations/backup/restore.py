"""Restores a backup: everything is checked before anything is changed, and a failure restores the previous state."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.files import File
from django.core.files.storage import FileSystemStorage, Storage, default_storage
from django.core.management import call_command
from django.db import connection

from core.models.user import ANONYMOUS_EMAIL
from core.operations.backup.archive import (
    DATABASE,
    ENVIRONMENTS,
    FILES,
    BackupManifest,
    BackupPart,
    BackupReader,
    part_of,
    reading,
)
from core.operations.backup.database import database_keep, database_kind, database_load, files_named
from core.operations.backup.errors import BackupDamaged, BackupError, RestoreRefused
from core.operations.backup.in_use import who_works
from core.operations.backup.make import migrations_known
from core.submissions.images import images_check_start

SIGNS_OF_USE = {"core_user": f"email <> '{ANONYMOUS_EMAIL}'", "core_agent": "id > 0", "core_tournament": "id > 0"}
"""Conditions for rows that a new arena does not have, by table; in SQL, because the database may be older."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A restored backup. missing: files that were lost before it was made. seconds: by step."""

    made_at: str
    file_count: int
    missing: tuple[str, ...]
    seconds: dict[str, float]


def restore(
    path: Path,
    *,
    replace: bool,
    force: bool = False,
    identity: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Restored:
    """Replace this arena by a backup.

    replace: also where there are people or agents already. force: also while other programs use the database. Files
    that no row of the backup names stay in the store, archives for 30 days. identity: a file with the private key of an
    encrypted backup. `tell` gets a sentence before each step. Raises BackupDamaged and RestoreRefused before anything
    is changed, and BackupError for a later failure, after database and store were put back as they were.
    """
    steps = _Steps(tell)
    with (
        reading(path, identity) as backup,
        tempfile.TemporaryDirectory(prefix="arena-restore-") as name,
        ExitStack() as undo,
    ):
        _check_fits(backup.manifest)
        if not owns_database():
            raise RestoreRefused(
                "This role does not own the database. Restore as its owner; with compose: "
                "docker compose run --rm migrate python manage.py restore FILE."
            )
        if not force and (others := who_works()):
            raise RestoreRefused(
                f"{others} Stop site and workers first, or their changes are lost or mixed with the backup; "
                "--force restores anyway."
            )
        if not replace and _is_in_use():
            raise RestoreRefused("This arena is in use. Use --replace to replace it by the backup.")
        with steps.step("check", "Checking the backup ..."):
            backup.check()
            _check_store(backup, replace=replace)
        with steps.step("files", f"Storing {len(backup.files())} files ..."):
            _store_files(backup, undo, Path(name))
        with steps.step("database", "Restoring and migrating the database ..."):
            _replace_database(backup, undo, Path(name))
        with steps.step("look", "Checking every file that rows name ..."):
            _check_files(backup)
        # The restore has succeeded, so nothing is undone.
        undo.pop_all()
        manifest = backup.manifest
        return Restored(manifest.made_at, len(backup.files()), tuple(manifest.missing), dict(steps.seconds))


class _Steps:
    """Announces each step and measures its time."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.seconds: dict[str, float] = {}

    def step(self, name: str, sentence: str) -> ExitStack:
        self._tell(sentence)
        begun = time.monotonic()
        stack = ExitStack()
        stack.callback(lambda: self.seconds.__setitem__(name, time.monotonic() - begun))
        return stack


def _check_fits(manifest: BackupManifest) -> None:
    if manifest.database != database_kind():
        raise RestoreRefused(
            f"This backup is for {manifest.database} and cannot be restored into {database_kind()}: "
            "set DATABASE_URL to a database of its kind."
        )
    applied = {(app, name) for app, names in manifest.migrations.items() for name in names}
    # A release runs on the database of the next one, and restores what it has saved there.
    ahead = {(app, name) for app, _, name in (row.partition(".") for row in manifest.ahead)}
    if newer := sorted(applied - migrations_known() - ahead):
        raise RestoreRefused(
            f"This backup was made by a newer arena ({'.'.join(newer[-1])} is not in this code): "
            "restore it with that version or a later one."
        )


def owns_database() -> bool:
    """Return whether every table may be replaced; a role of `core.site_role` may replace none."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT NOT EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema() "
            "AND NOT pg_has_role(current_user, tableowner, 'USAGE'))"
        )
        return bool(cursor.fetchone()[0])


def _is_in_use() -> bool:
    tables = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        for table, sign in SIGNS_OF_USE.items():
            if table in tables:
                cursor.execute(f"SELECT 1 FROM {table} WHERE {sign} LIMIT 1")  # noqa: S608  (constants)
                if cursor.fetchone():
                    return True
    return False


def _stores() -> dict[str, Storage]:
    """Return where the files of a backup belong, by the beginning of their names in it."""
    return {FILES: default_storage, ENVIRONMENTS: FileSystemStorage(settings.ENVIRONMENTS_DIR)}


def _check_store(backup: BackupReader, *, replace: bool) -> None:
    """Refuse to overwrite a different file: names are unique to their content, so it is foreign or damaged."""
    if replace:
        return
    for kind, store in _stores().items():
        for name, part in backup.files(kind).items():
            if _stored(store, name) not in (None, part):
                where = "The store" if kind == FILES else f"{settings.ENVIRONMENTS_DIR}"
                raise RestoreRefused(f"{where} has another file as {name}. Use --replace to overwrite it.")


def _stored(store: Storage, name: str) -> BackupPart | None:
    """Return the size and hash of a stored file; None without such a file."""
    with _storing(name):
        if not store.exists(name):
            return None
        with store.open(name, "rb") as file:
            return part_of(file)


@contextmanager
def _storing(name: str) -> Iterator[None]:
    """Turn the errors of a store, which differ for each store, into BackupError."""
    try:
        yield
    except BackupError:
        raise
    except Exception as error:
        raise BackupError(f"The store fails for {name}: {type(error).__name__}: {error}.") from error


def _store_files(backup: BackupReader, undo: ExitStack, folder: Path) -> None:
    """Store the missing files; `undo` gets the steps that take them back."""
    number = 0
    for kind, store in _stores().items():
        for name, part in backup.files(kind).items():
            there = _stored(store, name)
            if there == part:
                continue
            if there is not None:
                number += 1
                aside = folder / str(number)
                with _storing(name), store.open(name, "rb") as old, aside.open("wb") as copy:
                    shutil.copyfileobj(old, copy)
                undo.callback(_put, store, name, aside)
                _remove(store, name)
            undo.callback(_remove, store, name)
            with backup.open(f"{kind}{name}") as file:
                _save(store, name, file)


def _put(store: Storage, name: str, path: Path) -> None:
    with path.open("rb") as file:
        _save(store, name, file)


def _remove(store: Storage, name: str) -> None:
    with _storing(name):
        store.delete(name)


def _save(store: Storage, name: str, file: IO[bytes]) -> None:
    with _storing(name):
        saved = store.save(name, File(file))
        if saved != name:
            store.delete(saved)
            raise BackupError(f"The store saved {name} under another name.")


def _replace_database(backup: BackupReader, undo: ExitStack, folder: Path) -> None:
    before = folder / "before" if connection.introspection.table_names() else None
    if before is not None:
        database_keep(before)
    copy = folder / "database"
    with backup.open(DATABASE) as file, copy.open("wb") as out:
        shutil.copyfileobj(file, out)
    database_load(copy)
    # Only from here on: a failed load has changed nothing.
    undo.callback(_put_back, before)
    call_command("migrate", interactive=False, verbosity=0)
    # Backups contain no messages and no images. Workers find the waiting jobs themselves.
    images_check_start()


def _put_back(before: Path | None) -> None:
    """Load the previous database. If even that fails, its dump is kept, because there is no other copy."""
    try:
        database_load(before)
    except BaseException as error:
        if before is None:
            raise
        kept = shutil.move(before, Path(tempfile.mkdtemp(prefix="arena-before-restore-")) / before.name)
        raise BackupError(
            f"The previous database could not be restored ({error}): its dump is kept as {kept}."
        ) from error


def _check_files(backup: BackupReader) -> None:
    """Check that every file that a row names is stored as in the manifest. Raises BackupDamaged and BackupError."""
    named, parts = files_named(), backup.files()
    if unknown := named - parts.keys() - set(backup.manifest.missing):
        raise BackupDamaged(f"A row names {min(unknown)}, but this backup does not contain it.")
    for name in named & parts.keys():
        if _stored(default_storage, name) != parts[name]:
            raise BackupError(f"The store returns another content of {name} than was stored.")
