"""Keeps local players apart where this machine allows it: namespaces, no powers of root, and a user of their own."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from arena_kit.older import SAFE_PATH
from arena_kit.sandbox.startup import FIRST_PLAYER_UID


@functools.cache
def namespace_command() -> tuple[str, ...]:
    """Return the command prefix that gives a process its own namespaces; empty where this machine does not allow it."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    spaces = ["--pid", "--net", "--ipc", "--mount-proc", "--fork", "--kill-child=KILL"]
    user = [] if os.geteuid() == 0 else ["--user", "--map-current-user"]
    command = (unshare, *user, *spaces)
    probe = subprocess.run([*command, "true"], capture_output=True, timeout=60, check=False)
    return command if probe.returncode == 0 else ()


@functools.cache
def power_command() -> tuple[str, ...]:
    """Return the command prefix that drops root's powers; empty for other users, and where it does not work."""
    setpriv = shutil.which("setpriv")
    command = (setpriv or "", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all")
    return command if setpriv and os.geteuid() == 0 and _starts(command) else ()


@functools.cache
def has_own_users() -> bool:
    """Return whether submissions run as other users, which needs root and an interpreter that they can read."""
    return bool(power_command()) and _starts((*power_command(), *as_user(FIRST_PLAYER_UID)))


def as_user(uid: int) -> tuple[str, ...]:
    """Return the arguments of `power_command` that make a process another user's."""
    return (f"--reuid={uid}", f"--regid={uid}", "--clear-groups")


def _starts(command: tuple[str, ...]) -> bool:
    """Return whether the player server's interpreter works behind a command prefix."""
    probe = subprocess.run(
        [*namespace_command(), *command, sys.executable, "-s", *SAFE_PATH, "-c", "import ctypes, array"],
        capture_output=True,
        cwd="/",
        timeout=60,
        check=False,
    )
    return probe.returncode == 0


def hand_over(folder: Path, home: Path, uid: int) -> Path:
    """Give the player's user its home; return the folder, or a copy where that user cannot read the original."""
    os.chown(home, uid, uid)
    if _is_readable(folder):
        return folder
    copy = home.with_name("player")
    # Links are copied as links: root following them could copy files that the player must not read.
    shutil.copytree(folder, copy, symlinks=True)
    for path in [copy, *copy.rglob("*")]:
        os.chown(path, uid, uid, follow_symlinks=False)
    return copy


def _is_readable(folder: Path) -> bool:
    """Return whether other users can reach and list a folder."""
    return all(path.stat().st_mode & 0o001 for path in [folder, *folder.parents]) and bool(folder.stat().st_mode & 4)


def packages_for_others(folder: Path, home: Path) -> Path:
    """Return a folder of packages that other users can read: links to the files if the folder's parents are private."""
    if _is_readable(folder):
        return folder
    copy = home.with_name("packages")
    shutil.copytree(folder, copy, symlinks=True, copy_function=_link)
    return copy


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
    return target
