"""How strong the agents are that people can play, in numbers and in a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Max, Min

from core.models import Environment, Rating, Submission, User
from core.sittings.selectors import opponents_of

LEVELS = ("beginner", "easy", "medium", "strong")
"""The words for the quarters between the weakest and the strongest rated agent of an environment."""
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class RatedOpponent:
    """A version that people can play. rating: its official one; None without. level: one of LEVELS; empty without."""

    version: Submission
    rating: float | None
    level: str


def opponents_rated(
    user: User | None, environment: Environment, span: Span | None, *, count: int
) -> list[RatedOpponent]:
    """Return whom a person may play in an environment, the best rated first. span: of `rating_spans`."""
    versions = opponents_of(user, environment, count=count)
    return opponents_with_levels(versions, {} if span is None else {environment.pk: span})


def opponents_with_levels(versions: Sequence[Submission], spans: Mapping[int, Span]) -> list[RatedOpponent]:
    """Return versions with their ratings and levels, with one query."""
    values = dict(Rating.objects.filter(submission__in=versions).values_list("submission", "value"))
    return [
        RatedOpponent(
            version, value := values.get(version.pk), level_of(value, spans.get(version.agent.environment_id))
        )
        for version in versions
    ]


def rating_spans(environments: Sequence[Environment]) -> dict[int, Span]:
    """Return the lowest and the highest rating with a rank, by environment, with one query."""
    rated = Rating.objects.filter(submission__agent__environment__in=environments, rank__isnull=False).order_by()
    rows = rated.values_list("submission__agent__environment").annotate(Min("value"), Max("value"))
    return {environment: (low, high) for environment, low, high in rows}


def level_of(rating: float | None, span: Span | None) -> str:
    """Return the word for a rating within the ratings of its environment; empty where there is nothing to compare."""
    if rating is None or span is None or span[0] >= span[1]:
        return ""
    share = (rating - span[0]) / (span[1] - span[0])
    return LEVELS[min(max(int(share * len(LEVELS)), 0), len(LEVELS) - 1)]
