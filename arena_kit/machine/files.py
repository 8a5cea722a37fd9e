"""Locks, folders of a user, and modes of files."""

from __future__ import annotations

import contextlib
import getpass
import os
import stat
import sys
import tempfile
import time
import zlib
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

STDIN_PATH = "/dev/stdin" if sys.platform == "linux" else ""
"""The path by which a process opens its standard input anew, with a place of its own in the file; "" without one."""
NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_LOCK_POLL_SECONDS = 0.05


def lock(descriptor: int, *, waits: bool = False) -> bool:
    """Lock an open file until it is closed or this process ends; return False if another process has the lock."""
    while True:
        try:
            if sys.platform == "win32":
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except (BlockingIOError, PermissionError):
            if not waits:
                return False
            time.sleep(_LOCK_POLL_SECONDS)


def folder_lock_open(folder: Path, name: Path) -> int:
    """Open what is locked for a folder that is, or will be, called `name`; return its descriptor. Raises OSError.

    It is the folder itself. Windows opens no folders, and renames none that holds an open file: there it is a file
    beside the folder, which `folder_lock_close` removes.
    """
    if sys.platform == "win32":
        return os.open(_beside(name), os.O_RDWR | os.O_CREAT)
    else:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def folder_lock_close(descriptor: int, name: Path) -> None:
    """Release the lock of a folder."""
    os.close(descriptor)
    if sys.platform == "win32":
        with contextlib.suppress(OSError):
            _beside(name).unlink()


def _beside(name: Path) -> Path:
    return name.with_name(f"{name.name}.lock")


def temporary_of_user(name: str) -> Path:
    """Return the path of a temporary folder or file that all processes of this user share."""
    if sys.platform == "win32":
        user = zlib.crc32(getpass.getuser().encode())
    else:
        user = os.getuid()
    return Path(tempfile.gettempdir()) / f"{name}-{user}"


def mode_set(descriptor: int, mode: int) -> None:
    """Set the mode of an open file, where files have one."""
    if sys.platform != "win32":
        os.fchmod(descriptor, mode)


def is_open_to_others(found: os.stat_result, bits: int) -> bool:
    """Return whether a file's mode allows other users what `bits` of 0o077 stand for; on Windows, ACLs do that."""
    return sys.platform != "win32" and bool(stat.S_IMODE(found.st_mode) & bits)


def is_of_another(found: os.stat_result) -> bool:
    """Return whether a file belongs to another user than this process's."""
    return sys.platform != "win32" and found.st_uid != os.geteuid()


def keeps_modes(folder: Path) -> bool:
    """Return whether a file in this folder can be closed to others; Windows' drives in WSL and CIFS shares keep no
    modes."""
    with contextlib.suppress(OSError), tempfile.NamedTemporaryFile(dir=folder) as trial:
        return not is_open_to_others(os.fstat(trial.fileno()), 0o077)
    return True
