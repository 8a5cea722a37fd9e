"""How many hosts of workers are wanted, and which of them go. Pure: everything it uses is an argument."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

SHORTEST_JOB_SECONDS = 60.0
"""The least weight of a job: a host that is made for a few short jobs comes too late."""


@dataclass(frozen=True, slots=True)
class Work:
    """Open jobs of a kind. seconds: mean of the last ones; 0 if none has ended yet."""

    waiting: int
    running: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Host:
    """A host that has been created and is not on its way out. is_ready: its workers have been heard of."""

    name: str
    age_seconds: float
    is_ready: bool
    jobs: int = 0


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy of the operator.

    target_seconds: time in which the open work is to be done. slots: jobs that a host does at once. hours_per_day: of
    all hosts together, 0 for any number. youngest, oldest_seconds: no younger host goes for lack of work, as its hour
    is paid already; an older one is replaced. Without such a limit 0.
    """

    minimum: int = 0
    maximum: int = 2
    target_seconds: float = 600.0
    slots: int = 1
    hours_per_day: float = 0.0
    youngest_seconds: float = 0.0
    oldest_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision to carry out. wanted: hosts for the present work, before changes are slowed down. reason: a
    sentence."""

    wanted: int
    create: int
    drain: tuple[str, ...]
    reason: str


def wanted_hosts(work: Sequence[Work], policy: Policy, *, fixed_slots: int) -> int:
    """Return how many hosts do the open work in time. fixed_slots: jobs that workers elsewhere do at once."""
    seconds = sum((kind.waiting + kind.running) * max(kind.seconds, SHORTEST_JOB_SECONDS) for kind in work)
    slots = seconds / policy.target_seconds - fixed_slots
    return min(max(math.ceil(slots / policy.slots), policy.minimum), policy.maximum)


def decide(
    work: Sequence[Work],
    hosts: Sequence[Host],
    policy: Policy,
    *,
    leaving: int = 0,
    fixed_slots: int,
    wanted_before: int | None,
    hours_used: float,
) -> Decision:
    """Return what to do.

    leaving: hosts on their way out that still exist. wanted_before: of the last look. hours_used: of hosts, in the last
    24 hours. The number changes only when two looks in a row agree, and never beyond what both found. Together with
    those on their way out there are never more hosts than the maximum.
    """
    wanted = wanted_hosts(work, policy, fixed_slots=fixed_slots)
    low, high = sorted((wanted, wanted if wanted_before is None else wanted_before))
    low, high = max(low, policy.minimum), min(high, policy.maximum)
    old = [host for host in hosts if host.is_ready and 0 < policy.oldest_seconds < host.age_seconds]
    left = [host for host in hosts if host not in old]
    surplus = max(0, len(left) - high)
    # The idle ones go first; of those the oldest, whose hour has been used most.
    spare = sorted(
        (host for host in left if host.is_ready and host.age_seconds >= policy.youngest_seconds),
        key=lambda host: (host.jobs, -host.age_seconds, host.name),
    )[:surplus]
    missing = max(0, min(low - len(left), policy.maximum - len(hosts) - leaving))
    has_hours = policy.hours_per_day <= 0 or hours_used < policy.hours_per_day
    open_jobs = sum(kind.waiting + kind.running for kind in work)
    reason = (
        f"{open_jobs} open jobs want {wanted} of {policy.minimum} to {policy.maximum} hosts; there are {len(hosts)}."
    )
    if leaving:
        reason += f" On their way out: {leaving}."
    if missing and not has_hours:
        reason += f" The {policy.hours_per_day:g} hours of a day are used up."
    drain = tuple(host.name for host in (*old, *spare))
    return Decision(wanted, missing if has_hours else 0, drain, reason)
