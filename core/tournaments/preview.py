"""The preview of a tournament's plan: how many duels it has, and how long they take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from core.errors import Refused
from core.jobs.worker_selectors import places_alive
from core.models import Agent, Duel, Environment, Evaluation, JobState, Tournament, User
from core.tournaments.registration_selectors import eligible_count
from core.tournaments.rules import format_of

DUELS_READ = 50
"""The number of last duels of an environment from which the time of a match is worked out."""


@dataclass(frozen=True, slots=True)
class PlanPreview:
    """The preview of a plan with the agents of today.

    eligible: agents that may take part now. participants: those of them for whom there is room. obstacle: why they
    cannot play it, as a sentence; then there are no figures. match_count: of a duel. seconds: None while no duel of
    the environment has been played. places: duels that can be played at once by the workers that live now.
    """

    eligible: int
    participants: int
    obstacle: str = ""
    duel_count: int = 0
    match_count: int = 0
    seconds: float | None = None
    places: int = 0

    @property
    def all_matches(self) -> int:
        return self.duel_count * self.match_count


def plan_preview(tournament: Tournament, invited: Sequence[User], baselines: Sequence[Agent] = ()) -> PlanPreview:
    """Return what a plan would mean. The row may be one that is not saved, but its plan has no problems."""
    played = format_of(tournament)
    eligible = eligible_count(tournament, invited, baselines)
    count = min(eligible, tournament.max_participants or eligible)
    if count < played.fewest:
        return PlanPreview(eligible, count, _too_few(played.name, played.fewest, count))
    try:
        played.check(count, len(baselines))
    except Refused as refusal:
        return PlanPreview(eligible, count, str(refusal))
    duels, matches = played.meeting_count(count + len(baselines)), played.length
    places = places_alive(Evaluation if played.plays_alone else Duel)
    seconds = match_seconds(tournament.environment)
    if seconds is not None:
        # More workers help only as long as meetings do not wait for each other.
        seconds *= matches * max(math.ceil(duels / max(1, places)), played.depth(count))
    return PlanPreview(eligible, count, "", duels, matches, seconds, places)


def match_seconds(environment: Environment) -> float | None:
    """Return how long a match of the last duels took, or an episode, the start of players included; None without."""
    rows: QuerySet[Any] = Duel.objects.filter(player_1__agent__environment=environment)
    done = "matches_done"
    if environment.is_scored:
        rows, done = Evaluation.objects.filter(environment=environment), "episodes_done"
    ended = rows.filter(state=JobState.SUCCEEDED, started_at__isnull=False, **{f"{done}__gt": 0})
    read = list(ended.order_by("-pk").values_list("started_at", "ended_at", done)[:DUELS_READ])
    matches = sum(count for *_, count in read)
    taken = sum((end - start).total_seconds() for start, end, _ in read if start and end)
    return taken / matches if matches else None


def _too_few(name: str, fewest: int, count: int) -> str:
    would = f"{count} agent{'s' * (count != 1)} could take part now"
    return f"{name} with these settings needs {fewest} participants, and {would}."
