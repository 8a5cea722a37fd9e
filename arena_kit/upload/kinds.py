"""The kinds of files, by their names: compiled code, and what is no part of a submission."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

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


LITTER = frozenset({"__macosx", ".ds_store", "icon\r", "thumbs.db", "desktop.ini", "@eadir"})
"""Folders and files that Finder, Explorer and drives of Synology add, in lower case."""
KEPT_HIDDEN = ".python-version"
"""The one hidden file that describes a submission."""
TOOLS = frozenset({"venv"})
"""Folders that are not hidden, and that tools leave in a person's folder."""
_SECRET = re.compile(
    r".*\.env(?:\..*)?|kaggle\.json|(?:client_)?secrets?(?:_.*)?\.(?:json|toml|ya?ml)|credentials(?:\.json)?|"
    r"(?:application_default_credentials|service[_-]?account.*)\.json|id_(?:rsa|dsa|ecdsa|ed25519)|"
    r"[._]netrc|\.pypirc|\.npmrc|\.git-credentials|.*\.(?:pem|ppk|pfx|p12|kdbx)"
)
"""Names that people and tools give to files with passwords, tokens and private keys, in lower case."""
_SECRET_PATHS = (".git/config", ".huggingface/token", ".ssh/", ".docker/config.json", ".kube/config")
NOTED_NAMES = 5


def is_litter(name: str) -> bool:
    """Return whether a system or packer adds a file with this path; `._` and PaxHeaders are notes on other files."""
    parts = name.casefold().split("/")
    return any(part in LITTER or part.startswith(("._", "paxheaders")) for part in parts)


def is_secret(name: str) -> bool:
    """Return whether a file with this path usually holds passwords, tokens or private keys."""
    folded = name.casefold()
    last = folded.rpartition("/")[2]
    return bool(last) and (
        _SECRET.fullmatch(last) is not None or any(f"/{path}" in f"/{folded}" for path in _SECRET_PATHS)
    )


def is_left_out(name: str) -> bool:
    """Return whether a file with this path is passed over: hidden, added by a system or a tool, or with secrets."""
    *folders, last = name.split("/")
    hidden = any(part.startswith(".") and part not in (".", "..", KEPT_HIDDEN) for part in (*folders, last))
    return hidden or not TOOLS.isdisjoint(folders) or is_litter(name) or is_secret(name)


def notes_left_out(names: Iterable[str]) -> list[str]:
    """Return the sentences for the owner about the files that are left out."""
    names = list(names)
    secrets = [name for name in names if is_secret(name)]
    others = [name for name in names if name not in secrets]
    notes = []
    if others:
        notes.append(f"Hidden files, files of other programs and venv are left out: {named(others)}.")
    if secrets:
        notes.append(
            f"Files that usually hold passwords or tokens are left out: {named(secrets)}. Keep them out of your folder."
        )
    return notes


def named(names: Sequence[str]) -> str:
    """Return a few of the names for a sentence, and how many more there are."""
    more = f" and {len(names) - NOTED_NAMES} more" if len(names) > NOTED_NAMES else ""
    return ", ".join(names[:NOTED_NAMES]) + more
