"""The hash of passwords, with a limit on its memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.contrib.auth.hashers import Argon2PasswordHasher

AT_ONCE = 2
"""Hashes that one process computes at the same time: each takes 100 MiB, also for a wrong password."""
PATIENCE_SECONDS = 3.0
"""The longest wait for one of them: twenty logins at once end within it, and a flood does not hold all threads."""
_gate = BoundedSemaphore(AT_ONCE)


class TooManyHashes(Exception):
    """Too many passwords are checked at this moment. The message is for the person who waits."""


class Argon2AtOnce(Argon2PasswordHasher):
    """Argon2 as Django has it, of which each process computes at most AT_ONCE at a time. Raises TooManyHashes."""

    def encode(self, password: str, salt: str) -> str:
        with _admitted():
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        with _admitted():
            return super().verify(password, encoded)


@contextmanager
def _admitted() -> Iterator[None]:
    if not _gate.acquire(timeout=PATIENCE_SECONDS):
        raise TooManyHashes("Many people are logging in at this moment. Try again in a few seconds.")
    try:
        yield
    finally:
        _gate.release()
