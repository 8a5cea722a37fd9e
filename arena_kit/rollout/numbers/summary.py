"""The figures of a batch or of an agent: rates, costs, how rollouts ended, and which tasks tell agents apart."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from arena_kit.ranking.scores import Interval, share_interval
from arena_kit.rollout.numbers.attempts import Counts

MOST_DISAGREEMENTS = 50


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    """A rollout that has ended. spoilt: by the platform, so that it counts for nothing. retried: after a spoilt one."""

    task: str
    solved: bool
    score: float = 0.0
    spoilt: bool = False
    retried: bool = False
    ended_by: str = ""
    steps: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost_micros: int = 0


class Often(StrEnum):
    """How often a task was solved."""

    ALWAYS = "always"
    SOMETIMES = "sometimes"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures beside the success rate. What is None has nothing to be computed from.

    cost_per_solved, tokens_per_solved: of all attempts that count, by the number of solved ones. ended_by: shares of
    the attempts that count. spoilt_share: of all rollouts. retried_share: of the attempts that count. retries_differ:
    whether retried attempts are solved clearly more or less often than the others.
    """

    attempts: int
    solved: int
    mean_score: float | None
    cost_per_solved: float | None
    tokens_per_solved: float | None
    median_steps: float | None
    median_seconds: float | None
    ended_by: Mapping[str, float]
    spoilt_share: float | None
    retried_share: float | None
    retries_differ: bool


def counts_by_task(attempts: Iterable[EndedAttempt]) -> dict[str, Counts]:
    """Return how many attempts at each task count, and how many of them were solved."""
    made, solved = Counter[str](), Counter[str]()
    for attempt in attempts:
        if not attempt.spoilt:
            made[attempt.task] += 1
            solved[attempt.task] += attempt.solved
    return {task: Counts(made[task], solved[task]) for task in made}


def summarise(attempts: Sequence[EndedAttempt]) -> Summary:
    """Return the figures of many rollouts."""
    counted = [each for each in attempts if not each.spoilt]
    solved = [each for each in counted if each.solved]
    ended = Counter(each.ended_by for each in counted)
    retried = [each for each in counted if each.retried]
    return Summary(
        attempts=len(counted),
        solved=len(solved),
        mean_score=statistics.fmean(each.score for each in counted) if counted else None,
        cost_per_solved=sum(each.cost_micros for each in counted) / 1e6 / len(solved) if solved else None,
        tokens_per_solved=sum(each.tokens for each in counted) / len(solved) if solved else None,
        median_steps=statistics.median(each.steps for each in solved) if solved else None,
        median_seconds=statistics.median(each.seconds for each in solved) if solved else None,
        ended_by={name: count / len(counted) for name, count in sorted(ended.items())},
        spoilt_share=1 - len(counted) / len(attempts) if attempts else None,
        retried_share=len(retried) / len(counted) if counted else None,
        retries_differ=_differ(retried, [each for each in counted if not each.retried]),
    )


def how_often(counts: Counts) -> Often:
    """Return how often a task with attempts was solved."""
    if counts.solved == counts.attempts:
        return Often.ALWAYS
    return Often.SOMETIMES if counts.solved else Often.NEVER


def disagreements(agents: Mapping[str, Mapping[str, Counts]]) -> list[tuple[str, float]]:
    """Return the tasks at which the success rates of agents differ, and by how much at most, the largest first."""
    rates: dict[str, list[float]] = {}
    for tasks in agents.values():
        for task, counts in tasks.items():
            if counts.attempts:
                rates.setdefault(task, []).append(counts.rate)
    found = [(task, max(each) - min(each)) for task, each in rates.items() if max(each) > min(each)]
    return sorted(found, key=lambda each: (-each[1], each[0]))[:MOST_DISAGREEMENTS]


def only_by_oracle(agents: Mapping[str, Mapping[str, Counts]], verified: Iterable[str]) -> list[str]:
    """Return the tasks, of those that their oracle solves, that agents have attempted and none has ever solved."""
    tried = {task for tasks in agents.values() for task, counts in tasks.items() if counts.attempts}
    solved = {task for tasks in agents.values() for task, counts in tasks.items() if counts.solved}
    return sorted((tried - solved) & set(verified))


def _differ(some: Sequence[EndedAttempt], others: Sequence[EndedAttempt]) -> bool:
    """Return whether the intervals of two success rates lie apart."""
    one, other = (share_interval(sum(each.solved for each in group), len(group)) for group in (some, others))
    return isinstance(one, Interval) and isinstance(other, Interval) and (one.low > other.high or other.low > one.high)
