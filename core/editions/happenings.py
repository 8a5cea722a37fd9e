"""The things that people follow in an environment: results of editions, scores, new leaders, new versions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import inf

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Q

from core.evaluations.selectors import evaluations_comparable
from core.links import agent_address, tournament_address
from core.models import (
    Agent,
    Environment,
    Evaluation,
    JobState,
    Participant,
    RatingPoint,
    Submission,
    TournamentState,
    ranked,
)
from core.submissions.tries import versions_visible
from core.tournaments.results import withheld_from

MOST = 30
"""The most happenings of each kind, and of a feed."""
MOMENTS = 1_000
"""Rows of past leaderboards that are looked through for new leaders, newest first."""


@dataclass(frozen=True, slots=True)
class Happening:
    """A line of a feed. key: never changes, and no other line has it. address: a path of the site."""

    key: str
    at: datetime
    title: str
    address: str


def happenings(environment: Environment, agent: Agent | None = None) -> list[Happening]:
    """Return the last happenings that everyone may know of, newest first; of one agent, if it is given."""
    kinds = (_results, _scores) if environment.is_scored else (_results, _leaders)
    found = [one for kind in (*kinds, _versions) for one in kind(environment, agent)]
    return sorted(found, key=lambda one: (one.at, one.key), reverse=True)[:MOST]


def _results(environment: Environment, agent: Agent | None) -> Iterator[Happening]:
    """Return the places of an agent in finished tournaments; without one, the winners."""
    rows = Participant.objects.filter(tournament__environment=environment, tournament__state=TournamentState.FINISHED)
    rows = rows.exclude(tournament__in=withheld_from(AnonymousUser())).filter(
        ranked(), Q(rank=1) if agent is None else Q(submission__agent=agent)
    )
    rows = rows.select_related("tournament__environment", "submission__agent").annotate(
        size=Count("tournament__participants", filter=ranked("tournament__participants__"))
    )
    for row in rows.order_by("-tournament__ended_at", "pk")[:MOST]:
        place = f"{row.came(row.size)} in {row.tournament}"
        at = row.tournament.ended_at
        if at is not None:
            yield Happening(f"place-{row.pk}", at, f"{row.submission} {place}", tournament_address(row.tournament))


def _leaders(environment: Environment, agent: Agent | None) -> Iterator[Happening]:
    """Return the moments at which another agent began to lead the leaderboard."""
    rows = RatingPoint.objects.filter(environment=environment, rank=1).select_related("submission__agent__environment")
    firsts = {row.at: row for row in rows.order_by("-at", "-value", "-pk")[:MOMENTS]}
    for row, before in pairwise([*firsts.values(), None]):
        assert row is not None
        leader = row.submission.agent
        if (before is None or before.submission.agent_id != leader.pk) and agent in (None, leader):
            yield Happening(f"lead-{row.pk}", row.at, f"{leader} leads {environment}", agent_address(leader))


def _scores(environment: Environment, agent: Agent | None) -> Iterator[Happening]:
    """Return the scores that led a board of scores when they were reached; of one agent, all its scores.

    Scores on other seeds or by other rules than today's are left out, as on the board.
    """
    rows = Evaluation.objects.filter(evaluations_comparable(environment), environment=environment)
    rows = rows.filter(state=JobState.SUCCEEDED, submission__deleted_at=None, agent__is_disabled=False)
    rows = rows.filter(agent=agent) if agent else rows
    firsts, best = [], -inf
    for key, score in rows.order_by("ended_at", "pk").values_list("pk", "score"):
        assert score is not None
        if agent is not None or score > best:
            firsts.append(key)
        best = max(best, score)
    for row in rows.filter(pk__in=firsts[-MOST:]).select_related("submission", "agent__environment"):
        said = f"{row.submission} scored {row.score:g}" if agent else f"{row.agent} leads {environment}: {row.score:g}"
        assert row.ended_at is not None
        yield Happening(f"score-{row.pk}", row.ended_at, said, agent_address(row.agent))


def _versions(environment: Environment, agent: Agent | None) -> Iterator[Happening]:
    """Return the uploads of versions that have worked."""
    uploaded = Submission.objects.filter(agent__environment=environment, deleted_at=None, agent__is_resting=False)
    rows = versions_visible(uploaded if agent is None else uploaded.filter(agent=agent), AnonymousUser())
    for row in rows.select_related("agent__environment").order_by("-created_at")[:MOST]:
        title = f"{row.agent} has version {row.number}" if row.number > 1 else f"{row.agent} is new in {environment}"
        yield Happening(f"version-{row.public_id}", row.created_at, title, agent_address(row.agent))
