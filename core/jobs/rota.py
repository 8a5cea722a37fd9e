"""The order of the lines of a queue, as one process of workers remembers it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic

from core.jobs.registry import Line

FIRST_IN_A_ROW = 3
"""After so many jobs of the lines that are served first, those that share time are looked at before them once: uploads
that never end leave them a share."""
PATIENCE_SECONDS = 600.0
"""How long a worker does other jobs before it takes one of the lines that are served last although others wait."""
SHORTEST_SECONDS = 1.0
"""A shorter job counts as this long, so that lines of short jobs are served one after the other."""


@dataclass(slots=True)
class _Share:
    """A line, and the time up to which it has had its share, in seconds of work."""

    line: Line
    taken: float = 0.0


class Shares:
    """Lines that share the time of this process equally: the next one is the line that has had the least of it.

    So a line of long jobs has fewer of them done. A line in which nothing waits saves up no time: its next job counts
    from the share that the line served last had when it was served (start-time fair queueing; Goyal, Vin and Cheng,
    1996).
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        self._shares = [_Share(line) for line in lines]
        self._level = 0.0

    def order(self) -> list[Line]:
        """Return the lines, those that have had least first, and of equal ones those served longest ago."""
        return [share.line for share in sorted(self._shares, key=self._begin)]

    def serve(self, line: Line) -> None:
        """Note that a job of a line begins."""
        share = self._share(line)
        self._level = self._begin(share)
        share.taken = self._level + SHORTEST_SECONDS
        self._shares.remove(share)
        self._shares.append(share)

    def charge(self, line: Line, seconds: float) -> None:
        """Note how long the job took that began last in a line."""
        self._share(line).taken += max(0.0, seconds - SHORTEST_SECONDS)

    def settle(self) -> None:
        """Forget what each line has taken, because none of them had to wait for another."""
        self._level = max((share.taken for share in self._shares), default=0.0)

    def __contains__(self, line: Line) -> bool:
        return any(share.line is line for share in self._shares)

    def _begin(self, share: _Share) -> float:
        return max(share.taken, self._level)

    def _share(self, line: Line) -> _Share:
        return next(share for share in self._shares if share.line is line)


class Rota:
    """The order in which to look at the lines of a queue."""

    def __init__(self, first: Sequence[Line], shared: Sequence[Line], last: Sequence[Line]) -> None:
        self._first, self._shared, self._last = first, Shares(shared), Shares(last)
        self._in_a_row = 0
        self._since = 0.0
        """The monotonic time since when this process does nothing but other jobs than those of `last`."""
        self._is_fresh = True
        """Whether that begins anew: the latest job was one of `last`, or nothing was there to do."""

    def order(self) -> Iterator[Line]:
        """Yield all lines in the order in which to look at them now."""
        begin, end = (self._first, ()) if self._in_a_row < FIRST_IN_A_ROW else ((), self._first)
        yield from begin
        if self._is_fresh or monotonic() - self._since < PATIENCE_SECONDS:
            yield from (*self._shared.order(), *end, *self._last.order())
        else:
            # If none waits, or no room is left, the next look is that much later.
            self._since = monotonic()
            yield from (*self._last.order(), *self._shared.order(), *end)

    def serve(self, line: Line) -> None:
        """Note that a job of a line begins."""
        self._in_a_row = self._in_a_row + 1 if any(line is one for one in self._first) else 0
        for shares in (self._shared, self._last):
            if line in shares:
                shares.serve(line)
        if line in self._last:
            self._is_fresh = True
        elif self._is_fresh:
            self._is_fresh, self._since = False, monotonic()

    def charge(self, line: Line, seconds: float) -> None:
        """Note how long the job took that began last in a line."""
        for shares in (self._shared, self._last):
            if line in shares:
                shares.charge(line, seconds)

    def rest(self) -> None:
        """Note that there was nothing to do."""
        self._is_fresh, self._in_a_row = True, 0
        self._shared.settle()
        self._last.settle()
