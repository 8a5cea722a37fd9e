"""Copies the arena's files between the local folder and the object store, before STORAGE changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.files.storage import Storage
from django.utils.module_loading import import_string

from core.files.buckets import LOCAL, file_store
from core.operations.backup.archive import CHUNK_BYTES
from core.operations.backup.database import files_named


class CopyRefused(Exception):
    """The reason why nothing is copied."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A finished copy. there: files that the target had already. lost: named by rows, but not in the source.

    deleted: files that were deleted in the source.
    """

    count: int
    size_bytes: int
    there: int
    deleted: int
    lost: tuple[str, ...]
    failed: dict[str, str]


def files_copy(*, to: str, delete: bool = False, tell: Callable[[str], None] = lambda _: None) -> Copied:
    """Copy every file that a row names to the store `to` (local or s3) from the other one; run again, it goes on.

    The object store is that of STORAGE. A file counts as copied when the target has returned
    what the source returned, by SHA-256. A later run passes over files that are there in the same size, because a store
    keeps no half of a file; before a deletion in the source both are compared in any case. Raises CopyRefused.
    """
    source, target = _stores(to)
    count = size_bytes = there = deleted = 0
    lost: list[str] = []
    failed: dict[str, str] = {}
    for name in sorted(files_named()):
        try:
            is_there = target.exists(name)
            if not source.exists(name):
                # Perhaps an earlier run has copied and deleted it.
                there += is_there
                lost += [] if is_there else [name]
                continue
            size = source.size(name)
            is_there = is_there and target.size(name) == size
            if not is_there:
                _copy(source, target, name)
                count, size_bytes = count + 1, size_bytes + size
                tell(name)
            there += is_there
            if (delete or not is_there) and _sha256(source, name) != _sha256(target, name):
                failed[name] = "the target returns another content"
            elif delete:
                source.delete(name)
                deleted += 1
        except OSError as error:
            failed[name] = error.strerror or str(error)
    return Copied(count, size_bytes, there, deleted, tuple(lost), failed)


def _stores(to: str) -> tuple[Storage, Storage]:
    current = settings.STORAGES["default"]
    if "bucket" not in current.get("OPTIONS", {}):
        raise CopyRefused("STORAGE names no object store: set it, for this command alone if you like.")
    local, remote = _opened(file_store(LOCAL)), _opened(current)
    return (local, remote) if to != LOCAL else (remote, local)


def _opened(entry: dict[str, Any]) -> Storage:
    made: Storage = import_string(str(entry["BACKEND"]))(**(entry.get("OPTIONS") or {}))
    return made


def _copy(source: Storage, target: Storage, name: str) -> None:
    # An interrupted copy to a folder has left a shorter file.
    target.delete(name)
    with source.open(name, "rb") as file:
        saved = target.save(name, file)
    if saved != name:
        target.delete(saved)
        raise OSError(0, f"the target saved it as {saved}")


def _sha256(store: Storage, name: str) -> str:
    digest = hashlib.sha256()
    for data in _chunks(store, name):
        digest.update(data)
    return digest.hexdigest()


def _chunks(store: Storage, name: str) -> Iterator[bytes]:
    with store.open(name, "rb") as file:
        while data := file.read(CHUNK_BYTES):
            yield data
