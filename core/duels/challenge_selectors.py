"""Challenges: possible opponents, and results."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from django.db.models import Aggregate, Count, Exists, F, OuterRef, Prefetch, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from arena_kit.ranking.scores import Interval, share_interval
from arena_kit.ranking.sequential import SequentialState, SequentialTest
from core.duels.goals import goal_reached
from core.jobs.states import OPEN
from core.lookup import ByKey
from core.models import (
    Agent,
    Challenge,
    ChallengeKind,
    Duel,
    Environment,
    JobState,
    Participant,
    Rating,
    Submission,
    User,
)

TOP = 10
LISTED, DUELS_A_PAGE = 10, 50
_PLAYED = Q(state=JobState.SUCCEEDED)


def _of_duels(figure: Aggregate) -> Coalesce:
    """Return a sum over the duels of a challenge, which costs nothing where only its key is read."""
    duels = Duel.objects.filter(challenge=OuterRef("pk")).order_by().values("challenge")
    return Coalesce(Subquery(duels.annotate(found=figure).values("found")), 0)


SUMS = {
    "duel_count": _of_duels(Count("pk")),
    "done_count": _of_duels(Count("pk", filter=~Q(state__in=OPEN))),
    "won_count": _of_duels(Sum(F("player_1_wins") + F("player_2_errors"), filter=_PLAYED)),
    "drawn_count": _of_duels(Sum("draws", filter=_PLAYED)),
    "lost_count": _of_duels(Sum(F("player_2_wins") + F("player_1_errors"), filter=_PLAYED)),
}
"""The sums over all duels of a challenge, from the challenger's side."""


@dataclass(frozen=True, slots=True)
class ChallengeTally:
    """Results from the challenger's side: the opponent's forfeits count as won, its own as lost."""

    won: int = 0
    drawn: int = 0
    lost: int = 0

    @property
    def count(self) -> int:
        return self.won + self.drawn + self.lost

    @property
    def share(self) -> Interval | None:
        """The share of the matches, a draw counting half, with its 95% interval."""
        return share_interval(self.won + self.drawn / 2, self.count)

    @property
    def sentence(self) -> str:
        """The result for people, to follow a name."""
        if self.share is None:
            return "has not played a match."
        share = self.share
        return (
            f"won {self.won}, drew {self.drawn}, lost {self.lost} of {self.count} matches: {share.value:.0%} "
            f"({share.low:.0%} to {share.high:.0%})."
        )


@dataclass(frozen=True, slots=True)
class ChallengeDuel:
    """One duel of a challenge."""

    duel: Duel
    tally: ChallengeTally

    @property
    def name(self) -> str:
        """The opponent, and the position if the duel began at one of several."""
        begins = "" if self.duel.origin_ply is None else f" from state {self.duel.origin_ply}"
        return f"{self.duel.player_2}{begins}"

    @property
    def test_verdict(self) -> str:
        """The answer of its sequential test in a few words; empty without a test, or before its end."""
        first, second = self.duel.player_1, self.duel.player_2
        if (reached := goal_reached(self.duel)) is not None:
            share = SequentialTest(**(self.duel.test or {})).share
            return f"{first} {'reaches' if reached else 'does not reach'} {share:.0%} against {second}."
        match (self.duel.test_result or {}).get("state"):
            case SequentialState.ACCEPTED_H1:
                return f"{first} is stronger than {second}."
            case SequentialState.ACCEPTED_H0 if SequentialTest(**(self.duel.test or {})).is_symmetric:
                return f"{second} is stronger than {first}."
            case SequentialState.ACCEPTED_H0:
                return f"{first} is not shown to be stronger than {second}."
            case SequentialState.INCONCLUSIVE:
                return f"The matches do not decide between {first} and {second}."
        return ""

    @property
    def test_sentence(self) -> str:
        """Return the finding of its sequential test; empty without a test."""
        return str((self.duel.test_result or {}).get("sentence", ""))

    @property
    def finding(self) -> str:
        """The verdict of its sequential test with its sentence; empty without a test."""
        return " ".join(filter(None, (self.test_verdict, self.test_sentence)))

    @property
    def sentence(self) -> str:
        """The result of this duel, for people."""
        match self.duel.state:
            case JobState.CANCELLED:
                return f"cancelled. {self.duel.error}"
            case JobState.FAILED:
                return "could not be played because of a fault of the arena."
            case JobState.SUCCEEDED:
                return " ".join(filter(None, (self.tally.sentence, self.finding)))
        return "not played yet."


@dataclass(frozen=True, slots=True)
class Report:
    """A challenge with duels of it and the sum of all. count, done: the number of its duels, and of those over."""

    challenge: Challenge
    lines: tuple[ChallengeDuel, ...]
    total: ChallengeTally
    count: int
    done: int

    @property
    def is_over(self) -> bool:
        return self.done == self.count

    @property
    def sentence(self) -> str:
        """The result of all duels, for people."""
        return self.total.sentence


ACTIVE = ByKey(
    lambda agent: (
        Submission.objects.playing_for(agent)
        .annotate(has_played=Exists(Participant.objects.filter(submission=OuterRef("pk"))))
        .values_list("pk", "rating__rank", "rating__value", "has_played")[:1]
    )
)
"""The version that plays for an agent now: its key, rank and rating, and whether it has played in any tournament."""


def active_version(agent: Agent) -> Submission | None:
    """Return the version that plays for an agent now, with its rating; None without one. Two queries."""
    keys = [key for key, *_ in ACTIVE(agent.pk)]
    return Submission.objects.select_related("rating").filter(pk=keys[0]).first() if keys else None


def challenger_obstacle(agent: Agent, version: Submission | None) -> str:
    """Return a sentence that says why an agent cannot challenge others now and what to do; empty when it can.

    version: the result of `active_version`.
    """
    environment = agent.environment
    if environment.is_scored:
        return f"{environment} has one seat: agents are compared by their scores there and cannot challenge each other."
    if environment.closed_because:
        return environment.closed_because
    if agent.is_disabled:
        return f"{agent} is paused or disabled: its page says why and what to do."
    if agent.is_resting:
        return f"{agent} is hidden: show it again first."
    if version is None:
        return f"No version of {agent} may play yet: one has to be built and validated first."
    return ""


def rival_obstacle(opponent: Agent, version: Submission | None) -> str:
    """Return a sentence that says why other people may not ask for a duel with an agent now; empty when they may.

    version: the result of `active_version`.
    """
    if opponent.is_disabled or not opponent.owner.is_active:
        return f"{opponent} may not take part at the moment."
    if opponent.is_resting:
        return f"{opponent} is hidden and cannot be challenged."
    if version is None:
        return f"{opponent} has no version that may play at the moment."
    if not is_rated(opponent):
        return f"{opponent} has no rating yet: challenge it after its first edition."
    return ""


def is_rated(agent: Agent) -> bool:
    """Return whether any version of an agent has an official rating."""
    return Rating.objects.filter(submission__agent=agent).exists()


def top_rivals(agent: Agent) -> list[Submission]:
    """Return the active versions of the ten best agents by official rating, without those of the same owner."""
    rows = Rating.objects.filter(submission__agent__environment=agent.environment_id, rank__isnull=False)
    others = rows.exclude(submission__agent__owner=agent.owner_id).order_by("rank", "pk")
    found: list[Submission] = []
    # A few more than are shown, because some of the best may not play at present.
    for begin in count(0, 2 * TOP):
        ranked = list(others.values_list("submission__agent", flat=True)[begin : begin + 2 * TOP])
        active = Submission.objects.active().filter(agent__in=ranked).select_related("agent__environment")
        newest = active.newest_by_agent() if ranked else {}
        found += [newest[key] for key in ranked if key in newest]
        if len(found) >= TOP or len(ranked) < 2 * TOP:
            break
    return found[:TOP]


ACTIVE_OF = ByKey(
    lambda owner, environment: (
        Submission.objects.active()
        .filter(agent__owner=owner, agent__environment=environment)
        .order_by()
        .values_list("agent")
    )
)


def challengers(user: User, environment: Environment) -> list[Agent]:
    """Return a person's agents that have an active version in an environment."""
    keys = {agent for (agent,) in ACTIVE_OF(user.pk, environment.pk)}
    return list(Agent.objects.filter(pk__in=keys).order_by("name"))


def challenge_rows(shown: slice = slice(None)) -> QuerySet[Challenge]:
    """Return challenges with their duels, or some of each, and the sums of all its duels, newest first."""
    duels = Duel.objects.select_related("player_1", "player_2__agent__owner").defer("log", "history").order_by("number")
    rows = Challenge.objects.select_related("user", "submission__agent__environment", "submission__agent__owner")
    return rows.prefetch_related(Prefetch("duels", duels[shown], "listed")).annotate(**SUMS).order_by("-pk")


def challenge_get(challenge_id: int, *, page: int = 1) -> Report:
    """Return a challenge with its results so far, and a page of its duels. Raises Challenge.DoesNotExist."""
    shown = slice((page - 1) * DUELS_A_PAGE, page * DUELS_A_PAGE)
    return report_of(challenge_rows(shown).get(pk=challenge_id))


def challenge_list(agent: Agent) -> list[Report]:
    """Return the latest challenges of an agent, newest first; not what others let it play, or assignments.

    Each has its first duel only.
    """
    asked = Challenge.objects.filter(submission__agent=agent).order_by("-pk")
    others = (ChallengeKind.BRANCH, ChallengeKind.PLAYOUT, ChallengeKind.COURSE)
    keys = asked.exclude(kind__in=others).values_list("pk", flat=True)[:LISTED]
    # Their keys first: most agents have none, and the query of the sums is long.
    return [report_of(row) for row in challenge_rows(slice(1)).filter(pk__in=list(keys))]


def report_of(challenge: Challenge) -> Report:
    """Return a challenge with its results so far. challenge: of `challenge_rows`; it needs no query."""
    sums: dict[str, int] = {name: getattr(challenge, name) for name in SUMS}
    duels: list[Duel] = getattr(challenge, "listed")  # noqa: B009  (the attribute is that of `challenge_rows`)
    lines = tuple(ChallengeDuel(duel, tally_of(duel)) for duel in duels)
    total = ChallengeTally(sums["won_count"], sums["drawn_count"], sums["lost_count"])
    return Report(challenge, lines, total, sums["duel_count"], sums["done_count"])


def tally_of(duel: Duel) -> ChallengeTally:
    """Return the results of a duel, all 0 before its end."""
    if duel.state != JobState.SUCCEEDED:
        return ChallengeTally()
    return ChallengeTally(
        duel.player_1_wins + duel.player_2_errors, duel.draws, duel.player_2_wins + duel.player_1_errors
    )
