"""The needs of a driver of lots: the rows of an arena, and a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from arena_kit.cluster.lots.manifest import LotJob
from arena_kit.cluster.status import Ended

Plain = dict[str, Any]


class Rows(Protocol):
    """The arena's rows as a driver needs them. Each method is one transaction."""

    def live_claims(self) -> frozenset[str]:
        """Return the tokens of all claims of this arena that hold, those of other drivers included."""

    def renew(self, claims: Sequence[str]) -> frozenset[str]:
        """Renew leases; return the claims that are lost, e.g. because an owner cancelled the job."""

    def claim(self, count: int) -> Sequence[LotJob]:
        """Claim at most this many lots that wait."""

    def progress(self, claim: str, done: dict[str, int]) -> None:
        """Store how many matches or episodes are over, by part."""

    def finish(self, claim: str, lines: Sequence[str], ended: Ended) -> LotJob | None:
        """Store the results of a lot, if the claim still holds; return the claim's next lot, None if it is done.

        lines: of the referee's log.
        """

    def finish_parts(self, claim: str, lines: Sequence[str]) -> None:
        """Store the results of those parts of a block that its log holds already; the log may end anywhere."""

    def fail(self, claim: str, code: str, sentence: str) -> None:
        """Give a lot back after a fault of the platform, if the claim still holds."""


class Cluster(Protocol):
    """The cluster as a driver needs it. Every call raises SandboxUnavailable when the API does not answer well."""

    def jobs(self) -> list[Plain]:
        """Return the Jobs of this arena."""

    def pods(self) -> list[Plain]:
        """Return the pods of this arena's Jobs."""

    def events(self, name: str) -> list[Plain]:
        """Return the events of the object with this name."""

    def log(self, pod: str, *, last: int | None = None) -> list[str] | None:
        """Return the lines, or the `last` ones, that a pod's referee has printed; None when they are gone."""

    def create(self, manifest: Mapping[str, Any]) -> None:
        """Create a Job, unless it exists already. Raises JobRefused."""

    def delete(self, name: str, uid: str) -> None:
        """Delete a Job and its pods in the background, unless it is gone or another of its name has come."""
