"""Times results over one history, in the process that has Django set up for it. Needs Django and PostgreSQL."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any

from arena_kit.environment.records import Outcome
from benchmarks.results.at_once import finish_at_once
from benchmarks.results.history import Arena, fill, record_of

if TYPE_CHECKING:
    from core.models import Duel, Tournament

WARM = 3
"""Results before those that are timed: templates are read and statements prepared."""
OUTCOMES = (Outcome.PLAYER_1, Outcome.PLAYER_2, Outcome.PLAYER_1, Outcome.DRAW)


@dataclass(slots=True)
class Times:
    """Milliseconds of every part of each timed result."""

    finish: list[float] = field(default_factory=list)
    refresh: list[float] = field(default_factory=list)
    page: list[float] = field(default_factory=list)
    messages: int = 0

    def figures(self, *, is_correct: bool) -> dict[str, Any]:
        whole = [sum(parts) for parts in zip(self.finish, self.refresh, self.page, strict=True)]
        middle = {
            f"{name}_ms": round(statistics.median(values), 2)
            for name, values in (("result", whole), ("finish", self.finish), ("refresh", self.refresh),
                                 ("page", self.page))
        }  # fmt: skip
        return {
            **middle,
            "worst_ms": round(max(whole), 2),
            "messages_per_result": round(self.messages / len(whole), 3),
            "is_correct": is_correct,
        }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Fill the database of this process with the history, and time all kinds of tournaments."""
    begun = time.monotonic()
    arena = fill(agents=options.agents, rows=options.measure_here)
    filled = time.monotonic()
    from tournament_manager.tasks import tournaments_advance

    # Once for the whole history, as after an upgrade.
    tournaments_advance(arena.environment.pk)
    first = time.monotonic() - filled
    found = {
        "fill_seconds": round(filled - begun, 1),
        "first_refresh_seconds": round(first, 1),
        "kinds": {"ladder": _timed(arena, arena.ladder, options.results)},
    }
    _stop_ladder(arena)
    found["kinds"]["swiss"] = _timed(arena, _swiss(arena), options.results)
    found["kinds"]["edition"] = _timed(arena, _edition(arena), options.results)
    found["at_once"] = finish_at_once(arena, workers=options.workers, seconds=options.seconds)
    return found


def _stop_ladder(arena: Arena) -> None:
    from core.models import Environment, Play
    from tournament_manager.tasks import tournaments_advance

    Environment.objects.filter(pk=arena.environment.pk).update(play=Play.NOTHING)
    tournaments_advance(arena.environment.pk)


def _edition(arena: Arena) -> Tournament:
    from core.models import Environment
    from tournament_manager.editions import start_now

    return start_now(Environment.objects.get(pk=arena.environment.pk))


def _swiss(arena: Arena) -> Tournament:
    """A Swiss tournament of everybody whose first round has been drawn."""
    from django.utils import timezone

    from core.models import Tournament
    from core.tournaments.planning import tournament_plan
    from tournament_manager.progress import tournament_begin

    now = timezone.now()
    row = tournament_plan(
        tournament=Tournament(environment=arena.environment, name="Cup", format="swiss", starts_at=now), now=now
    )
    return tournament_begin(row, now=timezone.now())


def _timed(arena: Arena, tournament: Tournament, count: int) -> dict[str, Any]:
    """Finish so many duels one after the other, each until the page is right."""
    from django.test import Client
    from django.urls import reverse

    from tournament_manager.tasks import tournaments_advance

    client = Client(headers={"host": "127.0.0.1"})
    path = reverse("web:edition", args=[arena.environment.slug, tournament.edition])
    outcomes, times = cycle(OUTCOMES), Times()
    for number in range(-WARM, count):
        duel = _claimed(tournament)
        with messages() as sent:
            finish = _ms(lambda: _finish(duel, next(outcomes)))
        refresh = _ms(lambda: tournaments_advance(arena.environment.pk))
        page = _ms(lambda: _read(client, path))
        if number >= 0:
            times.finish.append(finish)
            times.refresh.append(refresh)
            times.page.append(page)
            times.messages += len(sent)
    return times.figures(is_correct=is_correct(tournament))


def _claimed(tournament: Tournament) -> Duel:
    """The next duel of a tournament that waits, as its worker holds it."""
    from core.jobs.lifecycle import job_claim
    from core.models import Duel, JobState

    number = tournament.duels.filter(state=JobState.QUEUED).order_by("number").values_list("pk", flat=True).first()
    assert number is not None, f"{tournament} has no duel left that waits."
    duel = job_claim(kind=Duel, job_id=number, worker="worker-1")
    assert duel is not None
    return duel


def _finish(duel: Duel, outcome: Outcome) -> None:
    from core.duels.services import duel_succeed
    from core.jobs.artifacts import DuelArtifacts

    duel_succeed(duel=duel, record=record_of(duel, outcome), artifacts=DuelArtifacts(2, "", "", ""), log="")


def _read(client: Any, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200, f"{path} answers {answer.status_code}."


def _ms(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - begun)


@contextmanager
def messages() -> Iterator[list[tuple[object, ...]]]:
    """What is sent to the workers of tournaments meanwhile; nothing leaves this process."""
    from core.jobs import bells as queues

    sent: list[tuple[object, ...]] = []
    before = queues._send

    def kept(*message: object) -> None:
        if message[0] == "tournament":
            sent.append(message)

    queues._send = kept
    try:
        yield sent
    finally:
        queues._send = before


def is_correct(tournament: Tournament) -> bool:
    """Whether the table and the live ratings are those that follow from the whole ledger."""
    from django.db.models import Sum

    from arena_kit.ranking.elo import rate
    from arena_kit.ranking.standings import duel_results
    from core.models import Rating
    from tournament_manager.ledger import COLUMNS, Entry, rated

    played = tournament.duels.filter(state="SUCCEEDED", void=None).count()
    counted = tournament.participants.aggregate(all=Sum("wins") + Sum("draws") + Sum("losses"))["all"] or 0
    rows = rated(tournament.environment).order_by("pk").values_list(*COLUMNS)
    live = rate(duel_results(Entry(*row) for row in rows.iterator()))
    kept = Rating.objects.filter(submission__agent__environment=tournament.environment)
    is_live = all(abs(live[key].value - value) < 1e-4 for key, value in kept.values_list("submission", "live"))
    # A round of rest is a win, too.
    is_table = counted == 2 * played if tournament.is_automatic else counted >= 2 * played
    return is_live and is_table
