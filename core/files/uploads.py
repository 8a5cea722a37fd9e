"""Stores an uploaded file for a row that is made after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from django.db import Error
from django.db.models import FileField, Model


@dataclass(slots=True)
class Stored:
    """A stored file that belongs to no row yet. is_kept: whether a row names it now."""

    name: str
    is_kept: bool = False


@contextmanager
def upload_stored(model: type[Model], file: Any, name: str = "archive") -> Iterator[Stored]:
    """Store a file for a field of a row to come, by renaming if it is on the same file system.

    It is deleted again unless a row names it.
    """
    field = model._meta.get_field(name)
    assert isinstance(field, FileField)
    file.seek(0)
    stored = Stored(field.storage.save(field.generate_filename(model(), ""), file))
    try:
        yield stored
    finally:
        # A cut connection can raise after the commit: then a row names the file, and it stays. If the database does not
        # answer, `archives_sweep` decides later about those of versions.
        with suppress(Error):
            if not stored.is_kept and not model._default_manager.filter(**{name: stored.name}).exists():
                field.storage.delete(stored.name)
