"""The preview of a tournament's plan: how many duels it has, and how long they take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.ranking.formats import format_make
from core.errors import Refused
from core.jobs.worker_selectors import places_alive
from core.models import Agent, Duel, Environment, JobState, Tournament, User
from core.tournaments.registration_selectors import eligible_count

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
    usual = tournament.environment.matches_per_duel // 2
    played = format_make(tournament.format, {"pairs": usual, **tournament.settings})
    eligible = eligible_count(tournament, invited, baselines)
    count = min(eligible, tournament.max_participants or eligible)
    if count < played.fewest:
        return PlanPreview(eligible, count, _too_few(played.name, played.fewest, count))
    try:
        played.check(count, len(baselines))
    except Refused as refusal:
        return PlanPreview(eligible, count, str(refusal))
    duels, matches, places = played.meeting_count(count + len(baselines)), 2 * played.pairs, places_alive(Duel)
    seconds = match_seconds(tournament.environment)
    if seconds is not None:
        # More workers help only as long as meetings do not wait for each other.
        seconds *= matches * max(math.ceil(duels / max(1, places)), played.depth(count))
    return PlanPreview(eligible, count, "", duels, matches, seconds, places)


def match_seconds(environment: Environment) -> float | None:
    """Return how long a match of the last duels took, the start of the players included; None without any."""
    ended = Duel.objects.filter(
        player_1__agent__environment=environment, state=JobState.SUCCEEDED, matches_done__gt=0, started_at__isnull=False
    )
    rows = list(ended.order_by("-pk").values_list("started_at", "ended_at", "matches_done")[:DUELS_READ])
    matches = sum(done for _, _, done in rows)
    taken = sum((end - start).total_seconds() for start, end, _ in rows if start and end)
    return taken / matches if matches else None


def _too_few(name: str, fewest: int, count: int) -> str:
    would = f"{count} agent{'s' * (count != 1)} could take part now"
    return f"{name} with these settings needs {fewest} participants, and {would}."
