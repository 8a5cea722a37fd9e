"""The 32-bit door of a 64-bit kernel, behind which call numbers mean something else."""

from __future__ import annotations

import ctypes
import mmap
import os

from tests.hostile import probe
from tests.hostile.probe import IS_ARM, in_child, tried

GETPID_32 = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20; int 0x80; ret
GETPID_X32 = b"\xb8\x27\x00\x00\x40\x0f\x05\xc3"  # mov eax, 39 | x32; syscall; ret


def run(code: bytes) -> None:
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    if ctypes.CFUNCTYPE(ctypes.c_int)(address)() != os.getpid():
        raise OSError


def entered(code: bytes) -> str:
    return "exit 1" if IS_ARM else in_child(lambda: run(code))


class Player(probe.Player):
    def attack(self) -> None:
        for name, code in (("32-bit entry", GETPID_32), ("x32 entry", GETPID_X32)):
            tried(name, entered, code)
