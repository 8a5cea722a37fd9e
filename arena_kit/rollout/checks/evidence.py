"""The evidence by which a rollout is judged: the answer, the state before and after, requests, the last page,
actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from arena_kit.rollout.exports.requests import Address, Request, address_of
from arena_kit.rollout.exports.state import ExportedState
from arena_kit.rollout.values.equality import shown
from arena_kit.rollout.values.paths import NOTHING

SUCCESS = "SUCCESS"
CODES = ("NOT_FOUND", "NOT_ALLOWED", "PERMISSION_DENIED", "INVALID_DATA", "UNKNOWN")
"""The statuses of an agent that cannot do the task, after WebArena-Verified's statuses."""
STATUSES = (SUCCESS, *CODES)


class EvidenceMissing(Exception):
    """Something that a check needs was not kept. The platform is at fault. The message is a sentence."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is left of a rollout. What is None was not kept, which is the platform's fault if a check needs it.

    answer: a JSON value, or NOTHING without an answer. status: one of STATUSES, or empty if the agent reported nothing.
    before: the state of a fresh world. last_url, last_page: of the active tab. actions: names, in their order.
    origins: those of the package.
    """

    answer: Any = NOTHING
    status: str = ""
    before: ExportedState | None = None
    after: ExportedState | None = None
    requests: Sequence[Request] | None = None
    last_url: str | None = None
    last_page: str | None = None
    actions: Sequence[str] | None = None
    origins: Sequence[str] = field(default_factory=tuple)

    def state(self) -> ExportedState:
        """Return the state after the rollout. Raises EvidenceMissing."""
        if self.after is None:
            raise EvidenceMissing("The state of the world was not exported.")
        return self.after

    def states(self) -> tuple[ExportedState, ExportedState]:
        """Return the states before and after. Raises EvidenceMissing."""
        if self.before is None:
            raise EvidenceMissing("The state of a fresh world is not there to compare with.")
        return self.before, self.state()

    def network(self) -> Sequence[Request]:
        """Return the requests. Raises EvidenceMissing."""
        if self.requests is None:
            raise EvidenceMissing("The network log was not kept.")
        return self.requests

    def address(self) -> Address:
        """Return the last address. Raises EvidenceMissing."""
        if self.last_url is None:
            raise EvidenceMissing("The last address was not kept.")
        return address_of(self.last_url)

    def page(self) -> str:
        """Return the text of the last page. Raises EvidenceMissing."""
        if self.last_page is None:
            raise EvidenceMissing("The last page was not kept.")
        return self.last_page

    def steps(self) -> Sequence[str]:
        """Return the names of the actions. Raises EvidenceMissing."""
        if self.actions is None:
            raise EvidenceMissing("The log of steps was not kept.")
        return self.actions


def readable(value: Any) -> str:
    """Return a value for people: a line of JSON, or `nothing`."""
    if value is NOTHING:
        return "nothing"
    return f"{len(value)} bytes" if isinstance(value, bytes) else shown(value)
