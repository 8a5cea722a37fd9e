"""The latest duels of an agent, and its rating after each of its editions."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from core.duels.latest import SIDES, latest_of
from core.models import Agent, ChallengeKind, Duel, JobState, Participant, Submission
from core.ratings.board import moved
from core.tournaments.results import Viewer, withheld_from

MOST = 12


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


def last_duels(agent: Agent, viewer: Viewer) -> list[LastDuel]:
    """Return the latest duels of an agent against others that a viewer may see, newest first. Five queries.

    Tests of its versions, runs and playouts are left out.
    """
    asked = Q(challenge__kind__in=(ChallengeKind.AGENT, ChallengeKind.TOP_TEN))
    begun = Duel.objects.filter(state__in=(JobState.RUNNING, JobState.SUCCEEDED)).exclude(
        tournament__in=withheld_from(viewer)
    )
    shown = begun.filter(Q(tournament__isnull=False) | asked).order_by("-pk")
    latest = latest_of([agent.pk], shown, MOST)
    # Their keys first: PostgreSQL needs twenty times longer to plan one query with all these tables than to execute it.
    sides = {
        key: side
        for side in (SIDES, SIDES[::-1])
        for key in shown.filter(latest[side[0]]).values_list("pk", flat=True)[:MOST]
    }
    rows = Duel.objects.select_related("tournament", "void").defer("log", "history", "verification")
    found = list(rows.filter(pk__in=sorted(sides, reverse=True)[:MOST]).order_by("-pk"))
    others = Submission.objects.select_related("agent", "rating").in_bulk(
        [getattr(row, f"{sides[row.pk][1]}_id") for row in found]
    )
    for row in found:
        other = sides[row.pk][1]
        setattr(row, other, others[getattr(row, f"{other}_id")])
    return [LastDuel(row, *sides[row.pk]) for row in found]


def edition_ratings(agent: Agent) -> dict[int, tuple[float, int | None]]:
    """Return the ratings at the end of its latest editions, by tournament, each with the change since the one before.

    The change is None in the first one. One query.
    """
    rows = Participant.objects.filter(submission__agent=agent, rating__isnull=False)
    ordered = rows.order_by("-tournament__edition", "-submission__number").values_list("tournament", "rating")
    latest = [(tournament, rating or 0.0) for tournament, rating in ordered[: MOST + 1]]
    before = [rating for _, rating in latest[1:]]
    known = {key: (rating, moved(rating, earlier)) for (key, rating), earlier in zip(latest, before, strict=False)}
    return {**{key: (rating, None) for key, rating in latest[-1:]}, **known}
