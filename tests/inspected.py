"""The inspection of uploads, once for all tests of a process that upload the same archive."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import IO

from arena_kit.upload.findings import THIS_PYTHON
from arena_kit.upload.inspection import inspect_apart
from arena_kit.upload.pythons import Version

_good: set[tuple[bytes, tuple[Version, ...], bool, tuple[str, ...]]] = set()


def inspect_once(
    file: IO[bytes],
    *,
    sender: str,
    arena: str = "",
    pythons: Sequence[Version] = THIS_PYTHON,
    is_whole: bool = True,
    refuses: Collection[str] = (),
) -> bool:
    """Inspect an archive as the site does, in a process of its own, unless the same one has been found good before."""
    file.seek(0)
    digest = hashlib.sha256(file.read()).digest(), tuple(pythons), is_whole, tuple(refuses)
    if digest in _good:
        return True
    is_good = inspect_apart(file, sender=sender, arena=arena, pythons=pythons, is_whole=is_whole, refuses=refuses)
    if is_good:
        _good.add(digest)
    return is_good
