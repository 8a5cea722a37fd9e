"""The way of a lot's results out of its pod: numbered lines of the referee's log, and a seal.

    progress PART DONE               how many matches or episodes of a part are over
    data NUMBER CRC BASE64           a piece of a part; CRC of its bytes in hexadecimal
    part ID FIRST LAST BYTES SHA256  the part is complete: its pieces, its size, its hash

The seal is a short JSON text that reaches the driver on another way, the container's termination message. It repeats
the claim, the parts and their hash, so that a log of another attempt, a cut or a doubled line is noticed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import IO

from arena_kit.sandbox.base import SandboxError

PIECE_BYTES = 45_000
MAX_BYTES = 6 << 20
"""The most bytes of a lot's results. A kubelet begins a new log file after 10 MiB of lines and shows only the last."""
KEPT_BYTES, SMALL_BYTES = 256 << 10, 4096
"""The bytes reserved for small parts, which only report that there was no room for a result."""
SEAL_VERSION = 1


class NotSealed(SandboxError):
    """The results that were read are not those that the referee sealed, which is the platform's fault."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The results of a pod cannot be trusted: {why}.", code="result_not_sealed")


class Writer:
    """Writes results to a log."""

    def __init__(self, log: IO[str], claim: str) -> None:
        self._log, self._claim = log, claim
        self._pieces = self._bytes = 0
        self._hash = hashlib.sha256()
        self._parts: list[str] = []

    @property
    def is_empty(self) -> bool:
        """Return whether it holds no part yet."""
        return not self._parts

    def progress(self, part: str, done: int) -> None:
        print(f"progress {part} {done}", file=self._log, flush=True)

    def part(self, part: str, data: bytes) -> None:
        """Write a part. Raises SandboxError when there are too many bytes for a log."""
        kept = 0 if len(data) <= SMALL_BYTES else KEPT_BYTES
        if self._bytes + len(data) > MAX_BYTES - kept:
            raise SandboxError(
                f"The results are larger than {MAX_BYTES >> 20} MiB, the most that a pod's log can carry. "
                "Lower the matches per duel of this environment, or use SANDBOX=docker for it.",
                code="result_too_large",
            )
        first = self._pieces
        for start in range(0, len(data), PIECE_BYTES):
            piece = data[start : start + PIECE_BYTES]
            text = base64.b64encode(piece).decode()
            print(f"data {self._pieces} {zlib.crc32(piece):08x} {text}", file=self._log)
            self._pieces += 1
        digest = hashlib.sha256(data).hexdigest()
        print(f"part {part} {first} {self._pieces - 1} {len(data)} {digest}", file=self._log, flush=True)
        self._bytes += len(data)
        self._hash.update(data)
        self._parts.append(part)

    def seal(self) -> str:
        """Return the seal, far below the 4096 bytes of a termination message for the parts of one lot."""
        return json.dumps(
            {
                "version": SEAL_VERSION,
                "claim": self._claim,
                "pieces": self._pieces,
                "bytes": self._bytes,
                "sha256": self._hash.hexdigest(),
                "parts": self._parts,
            }
        )


@dataclass(slots=True)
class Reader:
    """Reads the lines of a log, in any number of pieces.

    parts: the complete parts by id. done: matches or episodes that are over, by id of the part.
    """

    parts: dict[str, bytes] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    _pieces: list[bytes] = field(default_factory=list)
    _bytes: int = 0

    def read(self, lines: Iterable[str]) -> None:
        """Read more lines. Raises NotSealed for lines that `Writer` does not write."""
        for line in lines:
            word, *values = line.split() or [""]
            try:
                if word == "progress":
                    part, done = values
                    self.done[part] = int(done)
                elif word == "data":
                    self._add_piece(*values)
                elif word == "part":
                    self._add_part(*values)
                else:
                    raise NotSealed("a line of its log is unknown")
            except (ValueError, TypeError, binascii.Error):
                raise NotSealed("a line of its log is damaged") from None

    def check(self, seal: str, claim: str) -> None:
        """Raise NotSealed unless the seal is that of this claim and of exactly these parts."""
        try:
            sealed = json.loads(seal)
            told = [sealed[name] for name in ("version", "claim", "pieces", "bytes", "sha256", "parts")]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise NotSealed("its seal is missing or damaged") from None
        whole = b"".join(self.parts.values())
        digest = hashlib.sha256(whole).hexdigest()
        if told != [SEAL_VERSION, claim, len(self._pieces), len(whole), digest, list(self.parts)]:
            raise NotSealed("its log and its seal differ")

    def _add_piece(self, number: str, crc: str, text: str) -> None:
        piece = base64.b64decode(text, validate=True)
        self._bytes += len(piece)
        if int(number) != len(self._pieces) or int(crc, 16) != zlib.crc32(piece) or self._bytes > MAX_BYTES:
            raise NotSealed("a piece of its log is lost, doubled or changed")
        self._pieces.append(piece)

    def _add_part(self, part: str, first: str, last: str, size: str, digest: str) -> None:
        data = b"".join(self._pieces[int(first) : int(last) + 1])
        if part in self.parts or len(data) != int(size) or hashlib.sha256(data).hexdigest() != digest:
            raise NotSealed("a part of its log is not complete")
        self.parts[part] = data
