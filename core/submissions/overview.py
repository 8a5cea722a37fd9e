"""The overview of a person who comes back: own agents with rank and last results, and the next one above each."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from core.courses.sight import seen
from core.duels.latest import NOT_STRUCK, SIDES, latest_of
from core.evaluations.board import board_rank
from core.models import Agent, Audience, Duel, Evaluation, JobState, Rating, Submission, User
from core.ratings.board import Standing, changes_since, moved, ranked
from core.submissions.selectors import user_agent_list

AGENTS_SHOWN = 8
RESULTS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class OwnResult:
    """A duel seen from one's own agent, which is player 1 or 2. outcome: won, drawn or lost."""

    duel: Duel
    player: int
    outcome: str

    @property
    def opponent(self) -> Submission:
        """The other version."""
        return self.duel.player_2 if self.player == 1 else self.duel.player_1


@dataclass(frozen=True, slots=True)
class OwnLine:
    """An agent of the viewer. results: the last ones, oldest first. above: the next agent of another owner.

    evaluation: the current one of an agent that is ranked by score, and score_rank its rank.
    """

    agent: Agent
    standing: Standing | None
    change: int | None
    results: tuple[OwnResult, ...]
    above: Rating | None
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
        return moved(self.above.value, self.standing.rating.value) if self.above and self.standing else 0


def own_overview(user: User, *, since: datetime) -> list[OwnLine]:
    """Return the newest agents of a person, those with a rank first. Six queries, and at most three for each.

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


def _above(agent: Agent, standing: Standing) -> Rating | None:
    better = ranked(agent.environment).filter(rank__lt=standing.rank).exclude(submission__agent__owner=agent.owner_id)
    return better.select_related("submission__agent").order_by("-rank", "value").first()


def _results(agents: list[Agent]) -> dict[int, list[OwnResult]]:
    """The last results of agents in tournaments that everyone sees, oldest first, by agent. Three queries."""
    ended = Duel.objects.filter(NOT_STRUCK, tournament__results=Audience.PUBLIC, state=JobState.SUCCEEDED)
    shown = ("outcome", "player_1__number", "player_1__agent__name", "player_2__number", "player_2__agent__name")
    rows = ended.select_related("player_1__agent", "player_2__agent").only(*shown).order_by("-pk")
    latest = latest_of([agent.pk for agent in agents], ended, RESULTS_SHOWN)
    found: dict[int, list[OwnResult]] = defaultdict(list)
    for player, name in enumerate(SIDES, start=1):
        for duel in rows.filter(latest[name]):
            outcome = {name.upper(): "won", "DRAW": "drawn"}.get(duel.outcome, "lost")
            found[getattr(duel, name).agent_id].append(OwnResult(duel, player, outcome))
    return {key: sorted(rows, key=lambda row: row.duel.pk)[-RESULTS_SHOWN:] for key, rows in found.items()}
