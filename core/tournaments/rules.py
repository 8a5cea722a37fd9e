"""The rules that tournaments are played by: a tournament keeps those that it began with."""

from __future__ import annotations

from django.db.models import F, OuterRef, Subquery

from arena_kit.environment.spec import BARE
from core.models import Duel, Environment, Tournament


def rules_of(tournament: Tournament) -> str:
    """Return the id of the rules that a tournament is played by, with openings or without; at first those of today."""
    found = tournament.duels.order_by("number").values_list("environment_version", flat=True).first()
    return (found or tournament.environment.spec_id).removesuffix(BARE)


def first_edition(environment: Environment) -> int:
    """Return the number of the first automatic edition by today's rules, whether or not it has begun."""
    if environment.version == 1:
        return 1
    duels = Duel.objects.filter(tournament=OuterRef("pk")).order_by("number")
    editions = environment.tournaments.filter(is_automatic=True).annotate(
        rules=Subquery(duels.values("environment_version")[:1])
    )
    # Newest first, so that the cost does not grow with the history.
    before = editions.exclude(rules=None).exclude(rules__in=environment.rules_ids).order_by(F("edition").desc())
    return (before.values_list("edition", flat=True).first() or 0) + 1
