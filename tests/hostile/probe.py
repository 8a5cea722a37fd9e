"""Shipped with every hostile player: a way to play on, and one line on each thing that is tried.

Standard library only. Silence is never taken for safety: the manifest names every line that must have been printed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import socket
import stat
import time
from collections.abc import Callable, Sequence
from typing import Any

State = Sequence[Any]
LIBC = ctypes.CDLL(None, use_errno=True)
IS_ARM = platform.machine() == "aarch64"
PLANTED = "arena-hostile-left"
"""Begins the name of everything that a probe leaves behind on purpose."""


class Player:
    """Plays the first valid action, and attacks once per process, at its first move."""

    attacked = False

    def __init__(self, train_mode: bool) -> None:
        pass

    def attack(self) -> None:
        """What the player is here for."""

    def start(self, state: State, valid_actions: Sequence[int]) -> Any:
        if not Player.attacked:
            Player.attacked = True
            self.attack()
        return valid_actions[0]

    def step(self, state: State, valid_actions: Sequence[int], prev_reward: float) -> Any:
        return valid_actions[0]

    def end(self, state: State, prev_reward: float) -> None:
        pass


def say(line: str) -> None:
    """Print a line past whatever was done to `sys.stdout`."""
    os.write(1, (line + "\n").encode())


def tried(name: str, action: Callable[..., object], *arguments: object) -> None:
    """Do it and print `tried NAME: done RESULT` or `tried NAME: refused REASON`."""
    try:
        outcome = f"done {str(action(*arguments))[:200]}"
    except OSError as error:
        outcome = f"refused {errno.errorcode.get(error.errno or 0, type(error).__name__)}"
    except BaseException as error:
        outcome = f"refused {type(error).__name__}"
    say(f"tried {name}: {outcome}")


def until_refused(name: str, action: Callable[[int], object], most: int) -> None:
    """Do it again and again, at most `most` times; print how often it was done and what ended it."""
    reason = "nothing"
    done = 0
    try:
        for done in range(most):
            action(done)
        done = most
    except OSError as error:
        reason = errno.errorcode.get(error.errno or 0, type(error).__name__)
    except BaseException as error:
        reason = type(error).__name__
    say(f"tried {name}: done {done} times, then {reason}")


def syscall(name: str, x86: int, arm: int, *arguments: object) -> None:
    """Try a call of the kernel by its number."""

    def call() -> int:
        ctypes.set_errno(0)
        answer: int = LIBC.syscall(arm if IS_ARM else x86, *arguments)
        if answer == -1:
            raise OSError(ctypes.get_errno(), name)
        return answer

    tried(name, call)


def in_child(action: Callable[[], object]) -> str:
    """Do it in a child; return `exit 0`, or the status or signal that ended the child."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return f"exit {code}" if code >= 0 else signal.Signals(-code).name


def linger(seconds: float) -> int:
    """Leave a process of its own session behind that ignores polite signals and ends by itself; return its id."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(seconds)
    os._exit(0)


def wires() -> list[int]:
    """Descriptors of this process that are sockets: the wire is one of them."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                found.append(int(name))
        except OSError:
            continue
    return found


def send(data: bytes) -> None:
    """Write to the wire past the player server."""
    for descriptor in wires():
        with socket.socket(fileno=os.dup(descriptor)) as wire:
            wire.settimeout(5)
            wire.sendall(data)


def send_early(data: bytes) -> None:
    """Write to the wire as soon as it is connected."""
    for _ in range(400):
        try:
            send(data)
        except OSError:
            time.sleep(0.005)


def rewrite_answers(change: Callable[[bytes], bytes], pause: float = 0.0) -> None:
    """From now on, change what the player server writes to the wire, whichever call it uses.

    pause: seconds after every byte.
    """
    own = frozenset(wires())
    write = os.write

    def send_changed(wire: socket.socket, data: bytes, *_: object) -> int:
        write_changed(wire.fileno(), data)
        return len(data)

    def write_changed(descriptor: int, data: bytes) -> int:
        if descriptor not in own:
            return write(descriptor, data)
        changed = change(bytes(data))
        while changed:
            changed = changed[write(descriptor, changed[:1] if pause else changed) :]
            time.sleep(pause)
        return len(data)

    def send_many(wire: socket.socket, parts: Sequence[bytes], *_: object) -> int:
        return send_changed(wire, b"".join(parts))

    patches: dict[str, Any] = {"send": send_changed, "sendall": send_changed, "sendmsg": send_many}
    for name, patch in patches.items():
        setattr(socket.socket, name, patch)
    setattr(os, "write", write_changed)  # noqa: B010  (as for the others, not to a type checker's liking)
