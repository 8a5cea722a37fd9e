"""The rules that tournaments are played by: a tournament keeps those that it began with."""

from __future__ import annotations

from django.db.models import F, OuterRef, Subquery

from arena_kit.environment.spec import BARE
from arena_kit.ranking.formats import FORMATS, Format, format_make, settings_of
from core.models import Duel, Environment, Tournament


def format_of(tournament: Tournament) -> Format:
    """The format of a tournament with its settings. Raises Impossible.

    What is left out is as in the environment: meetings are as long as the duels of its editions, and a participant that
    plays alone plays as many episodes as for the board.
    """
    environment = tournament.environment
    usual = {"pairs": environment.matches_per_duel // 2, "episodes": environment.episodes_per_evaluation}
    known = settings_of(FORMATS[tournament.format]) if tournament.format in FORMATS else ()
    given = {one.name: max(one.least, min(usual[one.name], one.most)) for one in known if one.name in usual}
    return format_make(tournament.format, given | tournament.settings)


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
