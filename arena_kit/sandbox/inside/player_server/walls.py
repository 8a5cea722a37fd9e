"""The walls that process 1 builds itself around a submission, where the containers of a pod share a network namespace.

Sockets without a file (abstract ones) belong to the network namespace, so two players of one pod could talk over them.
The submission's processes therefore get no call that makes, names or connects a socket; where the kernel has Landlock,
abstract sockets and signals are scoped to them as well.
"""

from __future__ import annotations

import binascii
import contextlib
import ctypes
import os
import struct
import zlib

from .call_filters import FILTERS

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446
"""Numbers of kernel calls, the same on all machines."""
LANDLOCK_CREATE_RULESET_VERSION = 1
SCOPES_SINCE, SCOPE_ABSTRACT_UNIX_SOCKET, SCOPE_SIGNAL = 6, 1, 2
INSTRUCTION_BYTES = 8


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def build() -> None:
    """Take the calls for sockets from this process and its children for ever. Raises OSError, KeyError."""
    libc = ctypes.CDLL(None, use_errno=True)
    instructions = zlib.decompress(binascii.a2b_base64(FILTERS[os.uname().machine]))
    program = _Program(len(instructions) // INSTRUCTION_BYTES, instructions)
    _checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    with contextlib.suppress(OSError):
        _scope(libc)
    _checked(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0))


def check() -> None:
    """Raise OSError when the walls cannot be built here, by building them around a child."""
    child = os.fork()
    if child == 0:
        try:
            build()
        except BaseException:
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        raise OSError("The kernel does not let this container filter the calls of its processes.")


def _scope(libc: ctypes.CDLL) -> None:
    """Scope abstract sockets and signals by Landlock. Raises OSError where the kernel is too old."""
    version = _checked(libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_CREATE_RULESET_VERSION))
    if version < SCOPES_SINCE:
        return
    attributes = struct.pack("<QQQ", 0, 0, SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL)
    rules = _checked(libc.syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    try:
        _checked(libc.syscall(LANDLOCK_RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
