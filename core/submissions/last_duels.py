"""The latest duels of an agent, and its rating after each of its editions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from core.duels.latest import SIDES, STRUCK, Latest
from core.lookup import ByKey, Objects
from core.models import Agent, ChallengeKind, Duel, JobState, Participant, Submission
from core.ratings.board import moved
from core.tournaments.results import Viewer, withheld_keys

MOST = 12
OTHER = dict(zip(SIDES, reversed(SIDES), strict=True))


@dataclass(frozen=True, slots=True)
class LastDuel:
    """A duel that has begun, seen from an agent, whose side is `own`. A forfeit counts for the other player.

    outcome: in a word; "" while it is played.
    """

    duel: Duel
    own: str
    other: str

    @property
    def opponent(self) -> Submission:
        found: Submission = getattr(self.duel, self.other)
        return found

    @property
    def player(self) -> int:
        """1 or 2."""
        return SIDES.index(self.own) + 1

    @property
    def won(self) -> int:
        return int(getattr(self.duel, f"{self.own}_wins") + getattr(self.duel, f"{self.other}_errors"))

    @property
    def lost(self) -> int:
        return int(getattr(self.duel, f"{self.other}_wins") + getattr(self.duel, f"{self.own}_errors"))

    @property
    def outcome(self) -> str:
        return {"": "", "DRAW": "Drawn", self.own.upper(): "Won"}.get(self.duel.outcome, "Lost")


def _shown(withheld: tuple[int, ...]) -> QuerySet[Duel]:
    asked = Q(challenge__kind__in=(ChallengeKind.AGENT, ChallengeKind.TOP_TEN))
    begun = Duel.objects.filter(state__in=(JobState.RUNNING, JobState.SUCCEEDED)).exclude(tournament__in=withheld)
    return begun.filter(Q(tournament__isnull=False) | asked)


LATEST = Latest(_shown, MOST)
FACTS = ByKey(
    lambda keys: Duel.objects.filter(pk__in=keys).order_by("-pk").values_list("pk", "state", "matches_done", STRUCK)
)
"""By its key the state of a duel, how many of its matches are over, and whether it is void."""
_READ = (
    *("player_1", "player_2", "player_1_wins", "player_2_wins", "draws", "player_1_errors", "player_2_errors"),
    *("state", "outcome", "matches_done", "match_count", "void", "tournament__name", "tournament__edition"),
    "tournament__format",
)
READ = Objects(lambda keys: Duel.objects.filter(pk__in=keys).select_related("tournament", "void").only(*_READ))
NAMED = Objects(
    lambda keys: (
        Submission.objects.filter(pk__in=keys)
        .select_related("agent", "rating")
        .only("number", "agent__name", "rating__value")
    )
)


def latest_of(agent: Agent, viewer: Viewer) -> dict[int, str]:
    """Return the keys of the latest duels of an agent against others that a viewer may see, newest first, each with the
    side on which it played.

    Tests of its versions, runs and playouts are left out. Two queries, one where results may be withheld, and one for
    each of few versions.
    """
    return dict(LATEST([agent.pk], withheld_keys(agent.environment_id, viewer)).get(agent.pk, ()))


def last_duels(sides: Mapping[int, str]) -> list[LastDuel]:
    """Return duels by their keys, each seen from the agent on its side. Two queries."""
    rows = {row.pk: row for row in READ(tuple(sides))} if sides else {}
    opponents = {key: OTHER[side] for key, side in sides.items()}
    others = {getattr(row, f"{opponents[key]}_id") for key, row in rows.items()}
    found = {row.pk: row for row in NAMED(tuple(others))} if others else {}
    for key, row in rows.items():
        setattr(row, opponents[key], found[getattr(row, f"{opponents[key]}_id")])
    return [LastDuel(rows[key], side, opponents[key]) for key, side in sides.items() if key in rows]


RATINGS = ByKey(
    lambda agent: (
        Participant.objects.filter(submission__agent=agent, rating__isnull=False)
        .order_by("-tournament__edition", "-submission__number")
        .values_list("tournament", "rating")[: MOST + 1]
    )
)


def edition_ratings(agent: Agent) -> dict[int, tuple[float, int | None]]:
    """Return the ratings at the end of its latest editions, by tournament, each with the change since the one before.

    The change is None in the first one. One query.
    """
    latest = [(tournament, rating or 0.0) for tournament, rating in RATINGS(agent.pk)]
    before = [rating for _, rating in latest[1:]]
    known = {key: (rating, moved(rating, earlier)) for (key, rating), earlier in zip(latest, before, strict=False)}
    return {**{key: (rating, None) for key, rating in latest[-1:]}, **known}
