"""Who crashes: read from the ledger, in the order of its entries."""

from __future__ import annotations

from core.models import Audience, LedgerEntry, Submission, Tournament
from core.models.ledger import CRASHED


def crashed_in(tournament: Tournament) -> list[Submission]:
    """Submissions still in an edition that have forfeited all matches of a duel from one seat there.

    Of one whose results are held back nobody: to be paused would tell of them. One look into an index of such entries
    alone: it is asked whenever standings are refreshed.
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
    """In how many of its last duels in a row a submission has forfeited every match; counted up to `most`.

    Of tournaments, rated or not, whose results everybody sees; once results are released, as if they always had been.
    Not counted, as if they had not been, are duels that were struck, that an organiser has forgiven, or in which the
    opponent forfeited every match: those say nothing of this one. One look into an index.
    """
    entries = LedgerEntry.objects.filter(
        submission=submission,
        pk__gt=submission.agent.forgiven_entry,
        duel__void__isnull=True,
        duel__tournament__results=Audience.PUBLIC,
    )
    columns = ("duel", "wins", "losses", "draws", "errors", "opponent_errors")
    # Two entries a duel, and room for duels that are not counted.
    wanted = 4 * most + 1
    rows = list(entries.order_by("-pk").values_list(*columns)[:wanted])
    # Of two duels that were written at the same moment the entries may come in turns.
    by_duel: dict[int, list[tuple[int, ...]]] = {}
    for duel, *figures in rows:
        by_duel.setdefault(duel, []).append(tuple(figures))
    duels = list(by_duel.values())
    if len(rows) == wanted:
        # Of the last one only a part may be here.
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
