"""Stores an uploaded file for a row that is made after it, and deletes files that no row names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import Error
from django.db.models import FileField, Model

UNNAMED = timedelta(days=30)
"""The age up to which a file without a row is kept: a newer backup that names it may still be restored."""
SWEPT_AT_ONCE = 500
"""The files that one query looks for."""


@dataclass(slots=True)
class Stored:
    """A stored file that belongs to no row yet. is_kept: whether a row names it now."""

    name: str
    is_kept: bool = False


@contextmanager
def upload_stored(model: type[Model], file: Any, name: str = "archive", filename: str = "") -> Iterator[Stored]:
    """Store a file for a field of a row to come, by renaming if it is on the same file system.

    It is deleted again unless a row names it. filename: for the function that names files of the field.
    """
    field = model._meta.get_field(name)
    assert isinstance(field, FileField)
    file.seek(0)
    stored = Stored(field.storage.save(field.generate_filename(model(), filename), file))
    try:
        yield stored
    finally:
        # A cut connection can raise after the commit: then a row names the file, and it stays. If the database does not
        # answer, `uploads_sweep` decides later.
        with suppress(Error):
            if not stored.is_kept and not model._default_manager.filter(**{name: stored.name}).exists():
                field.storage.delete(stored.name)


def uploads_sweep(model: type[Model], name: str, folder: str, *, now: datetime) -> int:
    """Delete files of a folder that no row names in a field, e.g. of a killed process, if they are older than UNNAMED;
    return how many."""
    field = model._meta.get_field(name)
    assert isinstance(field, FileField)
    storage: Any = field.storage
    old, count = storage.files_before(folder, now - UNNAMED), 0
    for start in range(0, len(old), SWEPT_AT_ONCE):
        names = old[start : start + SWEPT_AT_ONCE]
        named = model._default_manager.filter(**{f"{name}__in": names}).values_list(name, flat=True)
        for unnamed in set(names) - set(named):
            storage.delete(unnamed)
            count += 1
    return count
