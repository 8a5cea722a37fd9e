"""The kinds of code that the name of an uploaded file allows."""

from __future__ import annotations

COMPILED_FOLDER, COMPILED_SUFFIXES = "__pycache__", (".pyc", ".pyo")
ARCHIVE_SUFFIXES = (".egg", ".whl", ".zip", ".pyz")
"""Endings of archives that Python can import from."""
UNREADABLE_SUFFIXES = (".so", ".pyd", ".dll", ".dylib", *ARCHIVE_SUFFIXES)
"""Endings of files that may hold code without its source; they are allowed, but a note to the owner names them."""


def is_compiled(name: str) -> bool:
    """Return whether Python could load a file with this path in place of a source file."""
    folded = name.casefold()
    return COMPILED_FOLDER in folded.split("/") or folded.endswith(COMPILED_SUFFIXES)


def is_archive(name: str) -> bool:
    """Return whether Python could import modules from within a file of this name."""
    return name.casefold().endswith(ARCHIVE_SUFFIXES)


def is_unreadable(name: str) -> bool:
    """Return whether a file with this path may hold code without its source, e.g. an extension module."""
    folded = name.casefold()
    return folded.endswith(UNREADABLE_SUFFIXES) or ".so." in folded.rpartition("/")[2]
