"""The latest duels of an agent, and its rating after each of its editions."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from core.models import Agent, ChallengeKind, Duel, JobState, Participant, Submission
from core.tournaments.results import Viewer, withheld_from

MOST = 12
SIDES = ("player_1", "player_2")


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
    """Return the latest duels of an agent against others that a viewer may see, newest first. Two queries.

    Tests of its versions, runs and playouts are left out.
    """
    asked = Q(challenge__kind__in=(ChallengeKind.AGENT, ChallengeKind.TOP_TEN))
    begun = Duel.objects.filter(state__in=(JobState.RUNNING, JobState.SUCCEEDED)).exclude(
        tournament__in=withheld_from(viewer)
    )
    shown = begun.filter(Q(tournament__isnull=False) | asked).defer("log", "history", "verification")
    found: list[LastDuel] = []
    for own, other in (SIDES, SIDES[::-1]):
        rows = shown.filter(**{f"{own}__in": Submission.objects.filter(agent=agent).values("pk")})
        rows = rows.select_related("tournament", "void", f"{other}__agent", f"{other}__rating")
        found += [LastDuel(row, own, other) for row in rows.order_by("-pk")[:MOST]]
    return sorted(found, key=lambda row: -row.duel.pk)[:MOST]


def edition_ratings(agent: Agent) -> dict[int, tuple[float, float | None]]:
    """Return the ratings at the end of its latest editions, by tournament, each with the change since the one before.

    The change is None in the first one. One query.
    """
    rows = Participant.objects.filter(submission__agent=agent, rating__isnull=False)
    ordered = rows.order_by("-tournament__edition", "-submission__number").values_list("tournament", "rating")
    latest = [(tournament, rating or 0.0) for tournament, rating in ordered[: MOST + 1]]
    before = [rating for _, rating in latest[1:]]
    known = {key: (rating, rating - earlier) for (key, rating), earlier in zip(latest, before, strict=False)}
    return {**{key: (rating, None) for key, rating in latest[-1:]}, **known}
