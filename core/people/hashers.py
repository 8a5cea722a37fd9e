"""The hash of passwords, with a limit on its memory."""

from __future__ import annotations

from threading import BoundedSemaphore

from django.contrib.auth.hashers import Argon2PasswordHasher

AT_ONCE = 2
"""Hashes that one process computes at the same time: each takes 100 MiB of memory, whoever types the password."""
_gate = BoundedSemaphore(AT_ONCE)


class Argon2AtOnce(Argon2PasswordHasher):
    """Argon2 as Django has it, of which each process computes at most AT_ONCE at a time; others wait for their turn."""

    def encode(self, password: str, salt: str) -> str:
        with _gate:
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        with _gate:
            return super().verify(password, encoded)
