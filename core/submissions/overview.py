"""The overview of a person who comes back: own agents with rank and last results, and the next one above each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from core.courses.sight import seen
from core.duels.latest import NOT_STRUCK, SIDES, Latest
from core.evaluations.board import board_rank
from core.lookup import ByKey, Lookup
from core.models import Agent, Audience, Duel, Evaluation, JobState, User
from core.ratings.board import Standing, changes_since, moved, ranked
from core.submissions.selectors import user_agent_list

AGENTS_SHOWN = 8
RESULTS_SHOWN = 10
LATEST = Latest(
    lambda: Duel.objects.filter(NOT_STRUCK, tournament__results=Audience.PUBLIC, state=JobState.SUCCEEDED),
    RESULTS_SHOWN,
)


class OwnResult(NamedTuple):
    """A duel seen from one's own agent, which is player 1 or 2. outcome: won, drawn or lost.

    duel: its key. opponent: the other version, by its name and number.
    """

    duel: int
    player: int
    outcome: str
    opponent: str


class Above(NamedTuple):
    """An agent that is ranked above another one, and its rating."""

    agent: str
    rating: float


@dataclass(frozen=True, slots=True)
class OwnLine:
    """An agent of the viewer. results: the last ones, oldest first. above: the next agent of another owner.

    evaluation: the current one of an agent that is ranked by score, and score_rank its rank.
    """

    agent: Agent
    standing: Standing | None
    change: int | None
    results: tuple[OwnResult, ...]
    above: Above | None
    evaluation: Evaluation | None = None
    score_rank: int | None = None

    @property
    def rank(self) -> int | None:
        """The rank by rating, or else by score."""
        return self.standing.rank if self.standing else self.score_rank

    @property
    def lost(self) -> OwnResult | None:
        """The newest duel that it lost."""
        return next((row for row in reversed(self.results) if row.outcome == "lost"), None)

    @property
    def gap(self) -> int:
        """How far the next agent above is ahead."""
        return moved(self.above.rating, self.standing.rating.value) if self.above and self.standing else 0


def own_overview(user: User, *, since: datetime) -> list[OwnLine]:
    """Return the newest agents of a person, those with a rank first. Six queries, and a few for each.

    since: the moment from which on changes of ratings are shown.
    """
    rows = seen(user.agents.filter(environment__is_active=True), user).select_related("environment")
    agents = list(rows.order_by("-pk")[:AGENTS_SHOWN])
    if not agents:
        return []
    results, lines = _results(agents), []
    for found in user_agent_list(agents):
        agent, standing, current = found.agent, found.standing, found.evaluation
        changes = changes_since(agent.environment, [standing.rating], since) if standing else {}
        above = _above(agent, standing) if standing else None
        own = tuple(results.get(agent.pk, ()))
        score_rank = board_rank(current) if current else None
        lines.append(OwnLine(agent, standing, changes.get(agent.pk), own, above, current, score_rank))
    return sorted(lines, key=lambda line: (line.rank is None, line.rank or 0))


ABOVE = Lookup(
    lambda environment, rank, owner: (
        ranked(environment)
        .filter(rank__lt=rank)
        .exclude(submission__agent__owner=owner)
        .order_by("-rank", "value")
        .values_list("submission__agent__name", "value")[:1]
    )
)


def _above(agent: Agent, standing: Standing) -> Above | None:
    rows = ABOVE(agent.environment_id, standing.rank, agent.owner_id)
    return Above(*rows[0]) if rows else None


PLAYED = ByKey(
    lambda duels: (
        Duel.objects.filter(pk__in=duels)
        .order_by()
        .values_list("pk", "outcome", *(f"{side}__{name}" for side in SIDES for name in ("agent__name", "number")))
    )
)


def _results(agents: list[Agent]) -> dict[int, list[OwnResult]]:
    """The last results of agents in tournaments that everyone sees, oldest first, by agent.

    Two queries, and one for each version that has one of them.
    """
    latest = LATEST([agent.pk for agent in agents])
    keys = tuple({key for found in latest.values() for key, _ in found})
    shown = {key: row for key, *row in PLAYED(keys)} if keys else {}
    return {
        agent: [_result(key, side, *shown[key]) for key, side in reversed(found) if key in shown]
        for agent, found in latest.items()
    }


def _result(duel: int, side: str, outcome: str, *players: str | int) -> OwnResult:
    """Return the result of a duel. players: the name and number of player 1, and those of player 2."""
    player = 1 + SIDES.index(side)
    name, number = players[2:] if player == 1 else players[:2]
    own = {side.upper(): "won", "DRAW": "drawn"}.get(outcome, "lost")
    return OwnResult(duel, player, own, f"{name} v{number}")
