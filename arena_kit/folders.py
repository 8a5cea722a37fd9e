"""Temporary folders held by a kernel lock, so that those of a dead process can be told apart and removed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from arena_kit.machine import files

DATA_DIR_HINT = "Make the folder, mount it, or set DATA_DIR to an existing folder."


def data_dir_problem(folder: Path) -> str:
    """Return a sentence that says why the arena cannot keep its data in a folder, or "" when it can."""
    if not folder.is_dir():
        return f"DATA_DIR is {folder}, which does not exist."
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"DATA_DIR is {folder}, which this user cannot write to."
    return ""


def data_dir_close(folder: Path) -> None:
    """Let no other user into a folder of this user: it has private agents, and a database with addresses."""
    with contextlib.suppress(OSError):
        found = folder.stat()
        if not files.is_of_another(found) and files.is_open_to_others(found, 0o077):
            folder.chmod(0o700)


class OwnFolder:
    """A temporary folder, locked until it is closed or this process ends.

    parent: the folder to make it in. Its name is `prefix` and eight random letters. Raises OSError.
    """

    def __init__(self, parent: Path, prefix: str, *, mode: int = 0o700) -> None:
        # The lock comes before the final name: `remove_abandoned` would remove an unlocked folder of that name.
        unnamed = Path(tempfile.mkdtemp(prefix=f".{prefix}", dir=parent))
        path = parent / unnamed.name.removeprefix(".")
        self._lock = files.folder_lock_open(unnamed, path)
        files.lock(self._lock, waits=True)
        unnamed.chmod(mode)
        self.path = unnamed.rename(path)

    def close(self) -> None:
        """Remove the folder and its contents. May be called twice."""
        shutil.rmtree(self.path, ignore_errors=True)
        lock, self._lock = self._lock, -1
        if lock >= 0:
            files.folder_lock_close(lock, self.path)


@contextlib.contextmanager
def own_temporary_folder(prefix: str, *, mode: int = 0o700) -> Iterator[Path]:
    """Make a folder among the machine's temporary ones, and remove it at the end.

    First, folders of this prefix are removed whose processes were killed. Raises OSError.
    """
    parent = Path(tempfile.gettempdir())
    remove_abandoned(parent, prefix)
    folder = OwnFolder(parent, prefix, mode=mode)
    try:
        yield folder.path
    finally:
        folder.close()


def remove_abandoned(parent: Path, prefix: str) -> int:
    """Remove the folders that dead processes left in `parent`, except those of other users; return how many."""
    count = 0
    for path in parent.glob(f"{prefix}????????"):
        with contextlib.suppress(OSError):
            lock, is_mine = files.folder_lock_open(path, path), False
            try:
                if is_mine := files.lock(lock):
                    shutil.rmtree(path)
                    count += 1
            finally:
                if is_mine:
                    files.folder_lock_close(lock, path)
                else:
                    # The lock of a process that lives must stay, or the next look would take it for a dead one.
                    os.close(lock)
    return count
