"""Sittings as pages and workers read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, F, OuterRef, Q, Subquery

from arena_kit.environment.partial import SoFar, so_far
from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.solver import NotSolved, Solution
from arena_kit.environment.solving import match_solver
from arena_kit.referee.sitting import SittingMove as Move
from core.courses.sight import Viewer, seen
from core.duels.selectors import NotStored, spec_get
from core.jobs.states import OPEN
from core.lookup import ByKey
from core.models import Agent, DuelOutcome, Environment, JobState, Rating, Sitting, SittingMove, Submission, User
from core.sittings.permissions import open_agents

IDLE = timedelta(minutes=30)
"""A person who does not move for this long has left the board."""
HINT_NODES = 50_000
"""Positions that a solver may look at for a hint: at most half a second of one core."""


@dataclass(frozen=True, slots=True)
class PeopleRecord:
    """Matches of people against an agent, by how they ended for the agent."""

    won: int
    drawn: int
    lost: int

    @property
    def count(self) -> int:
        return self.won + self.drawn + self.lost


def sitting_get(public_id: UUID) -> Sitting:
    """Return a sitting with what its board names. Raises Sitting.DoesNotExist."""
    return Sitting.objects.select_related(*Sitting.RELATED, "submission__rating", "origin_sitting").get(
        public_id=public_id
    )


def opening_of(sitting: Sitting) -> tuple[int, ...]:
    """Return the actions that a sitting begins with. Without an origin it begins with the rules' own start: people
    vary their play, so the random openings of duels are not needed."""
    return tuple(sitting.opening or ())


def moves_of(sitting: Sitting) -> list[Move]:
    """Return the moves of an open sitting that are stored."""
    rows = SittingMove.objects.filter(sitting=sitting).values_list("step", "seat", "action", "seconds")
    return [Move(*row) for row in rows]


def sitting_so_far(sitting: Sitting) -> SoFar:
    """Return the state of an open sitting. Raises NotStored."""
    moves = {(move.step, move.seat): move.action for move in moves_of(sitting)}
    try:
        return so_far(spec_get(sitting), seed=sitting.seed, opening=opening_of(sitting), moves=moves)
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        raise NotStored("The code of this environment has failed, so the match cannot be drawn now.") from None


def is_abandoned(persons_turn_at: datetime, *, now: datetime) -> bool:
    """Return whether a person whose turn it is has left the board."""
    return now - persons_turn_at >= IDLE


def sittings_open(user: User | None, known: Sequence[UUID] = ()) -> list[Sitting]:
    """Return a person's open sittings, newest first. known: those that their browser has begun without an account."""
    rows = Sitting.objects.filter(Q(user=user) | Q(public_id__in=known), state__in=OPEN)
    return list(rows.select_related("submission__agent__environment").order_by("-pk"))


def hint_of(sitting: Sitting) -> Solution | None:
    """Return how an open sitting goes on with perfect play; None where that is not seen soon. Raises NotStored."""
    spec, state = spec_get(sitting), sitting_so_far(sitting)
    actions = [*opening_of(sitting), *(action for step in state.steps for _, action in step)]
    try:
        solver = match_solver(spec, sitting.seed, actions, HINT_NODES)
        return None if solver is None else solver.at(len(actions))
    except (NotSolved, ArenaEnvironmentError, LookupError, TypeError, ValueError):
        return None


def agents_named(name: str, viewer: Viewer) -> list[Agent]:
    """Return the agents of this name in games that people play, at most one of each game."""
    # PostgreSQL refuses strings with a null character.
    rows = Agent.objects.none() if "\x00" in name else Agent.objects.filter(name__iexact=name, environment__seats=2)
    return list(seen(rows, viewer).select_related("environment", "owner").order_by("environment__name"))


OUTCOMES = ByKey(
    lambda agent, owner: (
        Sitting.objects.filter(submission__agent=agent, state=JobState.SUCCEEDED, is_helped=False, opening__isnull=True)
        .exclude(user=owner)
        .order_by()
        .values("outcome")
        .values_list("outcome", Count("pk"))
    )
)


def people_record(agent: Agent) -> PeopleRecord:
    """Return how people other than its owner have done against an agent, in matches from the start and without help."""
    counts = dict(OUTCOMES(agent.pk, agent.owner_id))
    return PeopleRecord(
        *(counts.get(outcome, 0) for outcome in (DuelOutcome.PLAYER_2, DuelOutcome.DRAW, DuelOutcome.PLAYER_1))
    )


def boards_changed(before: Mapping[str, str]) -> dict[str, str]:
    """Return the state of every open sitting by its name in addresses: a text that differs after every reply.

    before: the last such states. A board whose agent thinks keeps its own: the person has seen what they played.
    """
    rows = Sitting.objects.filter(state__in=OPEN)
    found: dict[str, str] = {}
    for name, not_before, moved_at, resigned_at in rows.values_list(
        "public_id", "not_before", "persons_turn_at", "resigned_at"
    ):
        thinks = not_before is None and resigned_at is None
        found[str(name)] = before.get(str(name), "") if thinks else f"{moved_at} {resigned_at}"
    return found


def opponents_of(user: User | None, environment: Environment, *, count: int) -> list[Submission]:
    """Return the versions that a person may play against in an environment, the best rated first."""
    playing = Submission.objects.playing_for(OuterRef("pk")).values("pk")[:1]
    rated = Rating.objects.filter(submission__agent=OuterRef("pk"), rank__isnull=False).order_by("rank")
    agents = open_agents(user).filter(environment=environment).annotate(playing=Subquery(playing))
    best = F("best_rank").asc(nulls_last=True)
    ranked = agents.filter(playing__isnull=False).annotate(best_rank=Subquery(rated.values("rank")[:1]))
    chosen = list(ranked.order_by(best, "name").values_list("playing", flat=True)[:count])
    rows = Submission.objects.select_related("agent__environment", "agent__owner").in_bulk(chosen)
    return [rows[key] for key in chosen]
