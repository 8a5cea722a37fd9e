"""Encrypts backups to a public key while they are written, and decrypts them, by the program `age`."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from core.operations.backup.errors import BackupError, RestoreRefused

SUFFIX = ".age"
MAGIC = b"age-encryption.org/"
"""The first bytes of every file that age has written."""


@contextmanager
def sealing(file: IO[bytes], recipient: str) -> Iterator[IO[bytes]]:
    """Yield a stream whose bytes reach `file` encrypted to a recipient. Raises BackupError if age fails."""
    with _age(f"--recipient={recipient}", stdin=subprocess.PIPE, stdout=file) as process:
        assert process.stdin is not None
        with process.stdin as stream:
            yield stream


@contextmanager
def unsealed(path: Path, identity: Path | None) -> Iterator[IO[bytes]]:
    """Yield a backup as it was before it was encrypted; another file as it is.

    The decrypted bytes are in a nameless file in TMPDIR. Raises RestoreRefused without an identity, and BackupError
    if the identity does not fit or the file was changed.
    """
    with path.open("rb") as file:
        # Without moving the place from which age reads.
        if os.pread(file.fileno(), len(MAGIC), 0) != MAGIC:
            yield file
            return
        if identity is None:
            raise RestoreRefused(f"{path} is encrypted: give the file with its private key by --identity.")
        with tempfile.TemporaryFile() as plain:
            with _age("--decrypt", f"--identity={identity}", stdin=file, stdout=plain):
                pass
            plain.seek(0)
            yield plain


@contextmanager
def _age(*options: str, stdin: int | IO[bytes], stdout: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Run age and wait for its success; its own error comes before one of what was read or written meanwhile."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(["age", *options], stdin=stdin, stdout=stdout, stderr=errors)
        except FileNotFoundError:
            raise BackupError("age is not installed here (on Debian: apt install age).") from None
        try:
            yield process
        finally:
            if process.wait() != 0:
                errors.seek(0)
                lines = errors.read().decode(errors="replace").strip().splitlines()
                raise BackupError(f"age failed: {lines[0] if lines else f'status {process.returncode}'}")
