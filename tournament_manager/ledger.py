"""Reads the ledger and has written down what follows from it: standings and ratings."""

from __future__ import annotations

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum

from core.models import Environment, LedgerEntry, LedgerVoid, Participant, Rating, Tournament, TournamentState
from core.services.ratings import ratings_replace
from core.services.tournaments import STANDING_FIELDS, standings_save
from tournament_manager.rating import rate
from tournament_manager.standings import Entry, duel_results, standings


def counted(environment: Environment) -> QuerySet[LedgerEntry]:
    """The entries of an environment that count: those of duels that were not struck."""
    return LedgerEntry.objects.filter(duel__tournament__environment=environment, duel__void__isnull=True)


def entries(rows: QuerySet[LedgerEntry]) -> list[Entry]:
    """Rows as plain values for the pure functions."""
    columns = ("duel_id", "submission_id", "opponent_id", "wins", "draws", "opponent_errors", "score")
    return [Entry(*row) for row in rows.order_by("duel_id", "pk").values_list(*columns)]


def standings_refresh(tournament: Tournament) -> None:
    """Recompute the table of an edition and write what has changed.

    Who was withdrawn stands below all others, with nothing; what the others did against them counts for nobody.
    """
    participants = {row.submission_id: row for row in tournament.participants.all()}
    withdrawn = {key for key, row in participants.items() if row.withdrawn_at is not None}
    rows = counted(tournament.environment).filter(duel__tournament=tournament)
    if withdrawn:
        rows = rows.exclude(submission__in=withdrawn).exclude(opponent__in=withdrawn)
    changed = []
    for standing in standings(participants, duel_results(entries(rows)), withdrawn=withdrawn):
        row = participants[standing.submission]
        if any(getattr(row, name) != getattr(standing, name) for name in STANDING_FIELDS):
            for name in STANDING_FIELDS:
                setattr(row, name, getattr(standing, name))
            changed.append(row)
    standings_save(participants=changed)


def ratings_refresh(environment: Environment) -> None:
    """Recompute all ratings of an environment from its whole ledger."""
    estimates = rate(duel_results(entries(counted(environment))))
    ratings_replace(
        environment=environment,
        ratings=[
            Rating(submission_id=submission, value=estimate.value, duel_count=estimate.duel_count)
            for submission, estimate in estimates.items()
        ],
    )


def outdated_editions(environment: Environment) -> list[Tournament]:
    """Ended editions whose tables were computed of more or fewer duels than count now, or of which a duel was struck.

    Once an edition has ended no duel of it is played any more; that one is struck (or the strike taken back) changes
    their number. So nobody needs to be told, and a lost message about a correction does no harm.
    """
    in_tables = counted(environment)
    withdrawn = Participant.objects.filter(tournament__environment=environment, withdrawn_at__isnull=False)
    if withdrawn.exists():
        one_of_them = Q(submission=OuterRef("submission")) | Q(submission=OuterRef("opponent"))
        in_tables = in_tables.exclude(Exists(withdrawn.filter(one_of_them, tournament=OuterRef("duel__tournament"))))
    per_edition = in_tables.order_by().values("duel__tournament")
    duels = {row["duel__tournament"]: row["duels"] for row in per_edition.annotate(duels=Count("duel", distinct=True))}
    ended = environment.tournaments.exclude(state=TournamentState.RUNNING).order_by("edition")
    tables = ended.annotate(counted=Sum(F("participants__wins") + F("participants__draws") + F("participants__losses")))
    # Each duel is in the tables of both players.
    # Two corrections may leave the number as it was; editions with a struck duel are few, so they are always looked at.
    struck = set(
        LedgerVoid.objects.filter(duel__tournament__environment=environment).values_list("duel__tournament", flat=True)
    )
    return [row for row in tables if row.pk in struck or (row.counted or 0) != 2 * duels.get(row.pk, 0)]


def ratings_are_outdated(environment: Environment) -> bool:
    """Whether the ratings were computed of more or fewer duels than count now; asked only between editions."""
    duels = counted(environment).values("duel").distinct().count()
    rated = Rating.objects.filter(submission__agent__environment=environment).values_list("duel_count", flat=True)
    struck = LedgerVoid.objects.filter(duel__tournament__environment=environment)
    return struck.exists() or sum(rated) != 2 * duels
