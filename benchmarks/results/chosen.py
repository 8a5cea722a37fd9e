"""Measures an edition of chosen duels among many agents, in which one version is new. Needs Django and PostgreSQL."""

from __future__ import annotations

import random
import statistics
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

from arena_kit.environment.records import Outcome
from benchmarks.results.history import Arena, record_of

if TYPE_CHECKING:
    from core.models import Duel, Submission

UPSET = 1 / 7
"""The share of duels that the weaker player wins, as in the history."""


def chosen_measure(arena: Arena) -> dict[str, Any]:
    """Return the cost of an edition's start and steps, and how well its duels place a new agent of middling strength.

    seconds, mb: of the start, from the check whether an edition is due until its first duels stand in line; of a step,
    everything that chooses the next duels after a result. fit: the ratings, which are fitted at most every two minutes
    and at the end.
    """
    from core.editions import chosen, services
    from core.editions.fits import ratings_refresh
    from core.models import Environment, JobState, Play, Rating

    environment = arena.environment
    Environment.objects.filter(pk=environment.pk).update(play=Play.EDITIONS)
    environment.refresh_from_db()
    arena.ladder.duels.filter(state__in=("QUEUED", "RUNNING")).delete()
    services.finish(arena.ladder)
    new = _joined(arena)
    begun = time.perf_counter()
    ratings_refresh(environment)
    fit_seconds = time.perf_counter() - begun
    start_seconds, start_mb = _start(environment)
    tournament = environment.tournaments.order_by("-edition")[0]
    places: dict[int, float] = {row.pk: place for place, row in enumerate(arena.players)}
    # Between the two in the middle.
    places[new.pk] = len(arena.players) / 2 - 0.5
    chance, steps = random.Random(1), []
    while (duel := tournament.duels.filter(state=JobState.QUEUED).order_by("number").first()) is not None:
        _play(
            duel, is_first_stronger=(places[duel.player_1_id] < places[duel.player_2_id]) != (chance.random() < UPSET)
        )
        begun = time.perf_counter()
        chosen.goes_on(tournament)
        steps.append(1000 * (time.perf_counter() - begun))
    services.finish(tournament)
    place = Rating.objects.get(submission=new)
    return {
        "agents": len(arena.players),
        "start_seconds": start_seconds,
        "start_mb": start_mb,
        "step_ms": round(statistics.median(steps), 1),
        "p90_step_ms": round(sorted(steps)[len(steps) * 9 // 10], 1),
        "worst_step_ms": round(max(steps), 1),
        "fit_seconds": round(fit_seconds, 2),
        "duels_of_new": sum(new.pk in pair for pair in tournament.duels.values_list("player_1", "player_2")),
        "duels": len(steps),
        "rank": place.rank,
        "true_rank": len(arena.players) // 2 + 1,
        "best_rank": place.best_rank,
        "worst_rank": place.worst_rank,
    }


def _joined(arena: Arena) -> Submission:
    """Return the version of a new agent of a new owner."""
    from benchmarks.load.rows import _submissions
    from core.models import User

    owner = User.objects.create(username="newcomer", email="newcomer@arena.example", password="!")
    return _submissions([owner], arena.environment, 1, "newcomer")[0]


def _start(environment: Any) -> tuple[float, float]:
    """Start an edition twice, the first time without a trace, which is slow; return its seconds and peak in MB."""
    from django.db import transaction
    from django.utils import timezone

    from core.editions.services import start_if_due

    now = timezone.now()
    with transaction.atomic():
        begun = time.perf_counter()
        assert start_if_due(environment, now=now) is not None
        seconds = time.perf_counter() - begun
        transaction.set_rollback(True)
    tracemalloc.start()
    assert start_if_due(environment, now=now) is not None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return round(seconds, 2), round(peak / 1e6, 1)


def _play(duel: Duel, *, is_first_stronger: bool) -> None:
    from core.duels.services import duel_succeed
    from core.jobs.artifacts import DuelArtifacts
    from core.jobs.lifecycle import job_claim

    job = job_claim(kind=type(duel), job_id=duel.pk, worker="worker-1")
    assert job is not None
    record = record_of(job, Outcome.PLAYER_1 if is_first_stronger else Outcome.PLAYER_2)
    duel_succeed(duel=job, record=record, artifacts=DuelArtifacts(2, "", "", ""), log="")
