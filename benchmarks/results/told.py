"""Shared parts of the measurements of results: sent messages, and the check of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from arena_kit.environment.records import Outcome

if TYPE_CHECKING:
    from core.models import Tournament

OUTCOMES = (Outcome.PLAYER_1, Outcome.PLAYER_2, Outcome.PLAYER_1, Outcome.DRAW)


@contextmanager
def messages() -> Iterator[list[tuple[object, ...]]]:
    """Collect the messages to the tournament workers as they are sent."""
    from core.jobs import messages as queues

    sent: list[tuple[object, ...]] = []
    before = vars(queues)["async_task"]

    def kept(function: str, task: str, argument: int | str, *, cluster: str, task_name: str) -> None:
        if cluster == "tournament":
            sent.append((task, argument))
        before(function, task, argument, cluster=cluster, task_name=task_name)

    vars(queues)["async_task"] = kept
    try:
        yield sent
    finally:
        vars(queues)["async_task"] = before


def is_correct(tournament: Tournament) -> bool:
    """Return whether the table and the live ratings match the whole ledger to the last digit."""
    from arena_kit.ranking.elo import rate
    from core.editions.progress import standings_refresh
    from core.editions.results import played, rated, results_of
    from core.editions.sums import DIGITS
    from core.models import LiveRating, Rating

    live = rate(results_of(played(rated(tournament.environment))))
    kept = LiveRating.objects.filter(submission__agent__environment=tournament.environment)
    shown = Rating.objects.filter(submission__agent__environment=tournament.environment)
    return (
        dict(kept.values_list("submission", "value")) == {key: estimate.value for key, estimate in live.items()}
        and all(round(live[key].value, DIGITS) == value for key, value in shown.values_list("submission", "live"))
        and standings_refresh(tournament) == 0
    )
