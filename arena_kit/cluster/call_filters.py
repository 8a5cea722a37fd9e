"""Compiles the list of kernel calls that a submission may make in a pod.

    python -m arena_kit.cluster.call_filters

writes `player_server/call_filters.py` anew. It is the list of the Docker sandbox, without the calls that make, name or
connect sockets. It needs libseccomp.
"""

from __future__ import annotations

import base64
import ctypes
import errno
import json
import tempfile
import textwrap
import zlib
from collections.abc import Sequence
from typing import Any

from arena_kit.sandbox.docker import SECCOMP_PROFILE
from arena_kit.sandbox.startup import PLAYER_SERVER

TARGET = PLAYER_SERVER / "call_filters.py"
ARCHITECTURES = {"x86_64": "x86_64", "aarch64": "aarch64"}
"""The machine's name by `uname -m`, and libseccomp's name for it."""
SOCKET_CALLS = frozenset({"socket", "socketpair", "bind", "connect", "listen", "accept", "accept4"})
SOCK_TYPE_MASK, SOCK_STREAM, SOCK_SEQPACKET, AF_UNIX = 0xF, 1, 5, 1
ALLOW, NO_SUCH_CALL, REFUSE = 0x7FFF0000, 0x00050000 | errno.ENOSYS, 0x00050000 | errno.EPERM
COMPARE_EQUAL, COMPARE_MASKED_EQUAL = 4, 7
OPTIMISE, AS_A_TREE = 8, 2
UNKNOWN_CALL = -1


class _Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def rules() -> list[tuple[int, str, list[tuple[int, int, int, int]]]]:
    """Return each allowed call as action, name and comparisons of arguments (index, operator, and its two values)."""
    found = []
    for entry in json.loads(SECCOMP_PROFILE.read_text())["syscalls"]:
        # Docker needs a tracer for SCMP_ACT_TRACE and lets the call fail as an unknown one without it.
        action = ALLOW if entry["action"] == "SCMP_ACT_ALLOW" else NO_SUCH_CALL
        comparisons = [_comparison(argument) for argument in entry.get("args") or []]
        found += [(action, name, comparisons) for name in entry["names"] if name not in SOCKET_CALLS]
    # A pair of datagram sockets can be given an abstract name without `bind`, and send to the names of others.
    for kind in (SOCK_STREAM, SOCK_SEQPACKET):
        pair = [(0, COMPARE_EQUAL, AF_UNIX, 0), (1, COMPARE_MASKED_EQUAL, SOCK_TYPE_MASK, kind)]
        found.append((ALLOW, "socketpair", pair))
    return found


def compiled(machine: str) -> bytes:
    """Return the filter's instructions for a kind of machine. Raises OSError without libseccomp."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    context = ctypes.c_void_p(library.seccomp_init(REFUSE))
    try:
        native = library.seccomp_arch_native()
        wanted = library.seccomp_arch_resolve_name(ARCHITECTURES[machine].encode())
        if wanted != native:
            _checked(library.seccomp_arch_add(context, ctypes.c_uint32(wanted)))
            _checked(library.seccomp_arch_remove(context, ctypes.c_uint32(native)))
        _checked(library.seccomp_attr_set(context, OPTIMISE, ctypes.c_uint32(AS_A_TREE)))
        for action, name, comparisons in rules():
            number = library.seccomp_syscall_resolve_name_arch(ctypes.c_uint32(wanted), name.encode())
            if number == UNKNOWN_CALL:
                raise OSError(f"libseccomp does not know the call {name}.")
            array = (_Comparison * len(comparisons))(*(_Comparison(*values) for values in comparisons))
            if number < 0:
                # The call does not exist on this kind of machine.
                continue
            _checked(
                library.seccomp_rule_add_array(context, ctypes.c_uint32(action), number, len(comparisons), array), name
            )
        with tempfile.TemporaryFile() as file:
            _checked(library.seccomp_export_bpf(context, file.fileno()))
            file.seek(0)
            return file.read()
    finally:
        library.seccomp_release(context)


def source() -> str:
    """Return the text of the module with the filters of all machines."""
    lines = [
        '"""The lists of kernel calls as filter programs by machine: zlib, then base64.',
        "",
        "Written by `python -m arena_kit.cluster.call_filters`.",
        '"""',
        "",
        "FILTERS = {",
    ]
    for machine in ARCHITECTURES:
        text = base64.b64encode(zlib.compress(compiled(machine), 9)).decode()
        lines += [f'    "{machine}": (', *(f'        "{part}"' for part in textwrap.wrap(text, 108)), "    ),"]
    return "\n".join([*lines, "}", ""])


def _comparison(argument: dict[str, Any]) -> tuple[int, int, int, int]:
    if argument["op"] == "SCMP_CMP_MASKED_EQ":
        return argument["index"], COMPARE_MASKED_EQUAL, argument["value"], argument.get("valueTwo", 0)
    return argument["index"], COMPARE_EQUAL, argument["value"], 0


def _checked(result: int, what: str = "the filter") -> None:
    if result < 0:
        raise OSError(-result, f"libseccomp refused {what}")


def main(arguments: Sequence[str] = ()) -> None:
    """Write the module anew."""
    TARGET.write_text(source())


if __name__ == "__main__":
    main()
