"""Counts what an agent uses of models, and says when a limit is reached. The gateway writes, the rollout reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

TOKENS, COST = "token_limit", "cost_limit"


@dataclass(frozen=True, slots=True)
class Usage:
    """The use so far. cost_micros: millionths of the unit that models are paid in."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost_micros: int = 0
    requests: int = 0

    @property
    def tokens(self) -> int:
        """All tokens together."""
        return self.tokens_in + self.tokens_out


class Meter:
    """The use of models in one rollout. May be used by several threads."""

    def __init__(
        self, *, tokens: int = 0, cost_micros: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """tokens, cost_micros: the limits; 0 tokens and None for no limit."""
        self._limits, self._clock = (tokens, cost_micros), clock
        self._lock = threading.Lock()
        self._usage, self._waited, self._since, self._open = Usage(), 0.0, 0.0, 0
        self._problem: tuple[str, str] | None = None

    @property
    def usage(self) -> Usage:
        """Return the use so far."""
        with self._lock:
            return self._usage

    @property
    def waited_seconds(self) -> float:
        """For how long at least one request was open, which is not the agent's own time."""
        with self._lock:
            return self._waited + (self._clock() - self._since if self._open else 0.0)

    @property
    def limit(self) -> str:
        """The limit that is reached: TOKENS, COST, or empty."""
        tokens, cost = self._limits
        usage = self.usage
        if tokens and usage.tokens >= tokens:
            return TOKENS
        return COST if cost is not None and usage.cost_micros >= cost else ""

    @property
    def problem(self) -> tuple[str, str] | None:
        """Code and sentence of what is wrong with the model, which is the platform's fault."""
        with self._lock:
            return self._problem

    def add(self, *, tokens_in: int, tokens_out: int, tokens_cached: int, cost_micros: int) -> None:
        """Count an answer of a model."""
        with self._lock:
            old = self._usage
            self._usage = Usage(
                old.tokens_in + tokens_in,
                old.tokens_out + tokens_out,
                old.tokens_cached + tokens_cached,
                old.cost_micros + cost_micros,
                old.requests + 1,
            )

    def fail(self, code: str, sentence: str) -> None:
        """Note what is wrong with the model; the first thing counts."""
        with self._lock:
            self._problem = self._problem or (code, sentence)

    def __enter__(self) -> None:
        with self._lock:
            self._since = self._since if self._open else self._clock()
            self._open += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._open -= 1
            if not self._open:
                self._waited += self._clock() - self._since
