"""Submissions that crash, read from the ledger in the order of its entries."""

from __future__ import annotations

from core.models import Audience, LedgerEntry, Submission, Tournament
from core.models.ledger import CRASHED


def crashed_in(tournament: Tournament) -> list[Submission]:
    """Return submissions still in an edition that have forfeited all matches of a duel from one seat there.

    An edition whose results are withheld has none, because a quarantine would reveal them. This is one lookup in an
    index of such entries only, since every refresh of standings asks.
    """
    entries = LedgerEntry.objects.filter(
        CRASHED,
        duel__tournament=tournament,
        duel__tournament__results=Audience.PUBLIC,
        submission__agent__is_disabled=False,
        submission__participations__tournament=tournament,
        submission__participations__withdrawn_at=None,
    )
    found = entries.order_by().values("submission")
    return list(Submission.objects.filter(pk__in=found).select_related("agent__environment").order_by("pk"))


def crash_streak(submission: Submission, *, most: int) -> int:
    """Return how many of its last duels in a row a submission has forfeited completely, counted up to `most`.

    Tournaments with public results count, rated or not, and released results count as if they had always been public.
    Duels that were struck, that an organiser has forgiven, or that the opponent forfeited completely are skipped,
    because they say nothing about this submission. One lookup in an index.
    """
    entries = LedgerEntry.objects.filter(
        submission=submission,
        pk__gt=submission.agent.forgiven_entry,
        duel__void__isnull=True,
        duel__tournament__results=Audience.PUBLIC,
    )
    columns = ("duel", "wins", "losses", "draws", "errors", "opponent_errors")
    # Two entries for each duel, and some more for duels that are skipped.
    wanted = 4 * most + 1
    rows = list(entries.order_by("-pk").values_list(*columns)[:wanted])
    # The entries of two duels that were written at the same time may alternate.
    by_duel: dict[int, list[tuple[int, ...]]] = {}
    for duel, *figures in rows:
        by_duel.setdefault(duel, []).append(tuple(figures))
    duels = list(by_duel.values())
    if len(rows) == wanted:
        # The last duel may be incomplete here.
        duels.pop()
    streak = 0
    for seats in duels:
        played = sum(wins + losses + draws for wins, losses, draws, _, _ in seats)
        errors, of_opponent = sum(row[3] for row in seats), sum(row[4] for row in seats)
        if not played and not errors and of_opponent:
            continue
        if played or of_opponent or not errors or streak == most:
            break
        streak += 1
    return streak
