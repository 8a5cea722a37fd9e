"""Reveals withheld results round by round, and shows a tournament as far as a person may see it."""

from __future__ import annotations

from dataclasses import replace

from django.db import transaction

from arena_kit.ranking.formats import FORMATS, Outline
from core.cache.answers import cached
from core.editions.progress import history_of, plan_of
from core.errors import Refused
from core.models import Audience, Tournament, TournamentState
from core.tournaments.brackets import Drawn, bracket_get, plan_version
from core.tournaments.planning import results_release
from core.tournaments.rounds import last_round, tournament_lock
from core.tournaments.rules import format_of

KEPT_SECONDS = 60.0
"""How long a tournament after a round is kept while its plan stays."""
_After = tuple[Outline, tuple[int, ...]]


def can_reveal(tournament: Tournament, to: str) -> bool:
    """Return whether rounds of a tournament can be withheld from these people and shown to them one by one."""
    is_played = tournament.state in (TournamentState.RUNNING, TournamentState.FINISHED)
    is_withheld = tournament.results not in (Audience.PUBLIC, to)
    has_rounds = tournament.format in FORMATS and not (tournament.is_automatic or tournament.plays_alone)
    return is_played and is_withheld and has_rounds


def round_next(tournament: Tournament, to: str) -> int:
    """The next round to reveal: what everyone sees, participants see too."""
    seen = tournament.revealed_to_all
    return 1 + (seen if to == Audience.PUBLIC else max(seen, tournament.revealed_to_participants))


def round_reveal(*, tournament: Tournament, to: str, number: int | None = None) -> int:
    """Show the results of the next round to participants or to everyone; return its number.

    The last round of a tournament that has ended releases all of its results to them. number: the round that is meant,
    so that a second press shows no further one; None for the next. Raises Refused, also for a round in which a duel is
    still to be played.
    """
    with transaction.atomic():
        locked = tournament_lock(tournament)
        if not can_reveal(locked, to):
            raise Refused("It has no rounds that are withheld from them.")
        following, last = round_next(locked, to), last_round(locked)
        # Planned anew, because a duel may have been struck a moment ago.
        ahead = plan_of(locked).round
        is_over = locked.state == TournamentState.FINISHED and ahead is None
        if is_over:
            # All that is left may be rounds without a duel, because the others have withdrawn.
            following = min(following, last)
        if number not in (None, following):
            raise Refused(f"Round {following} is the next to reveal, not round {number}.")
        number = following
        if number > last or (ahead is not None and number >= ahead):
            raise Refused(f"Round {number} is not over yet.")
        if number == last and is_over:
            results_release(tournament=locked, to=to)
        else:
            column = "revealed_to_all" if to == Audience.PUBLIC else "revealed_to_participants"
            Tournament.objects.filter(pk=locked.pk).update(**{column: number})
    tournament.refresh_from_db()
    return number


def standing_get(tournament: Tournament, rounds: int | None) -> Drawn | None:
    """A tournament after a round, None for now; None where it shows nothing, or before its first round is planned.

    rounds: the last round that may be seen, see `rounds_visible`.
    """
    if rounds is None:
        return bracket_get(tournament)
    return _drawn_after(tournament, rounds) if rounds else None


def _drawn_after(tournament: Tournament, number: int) -> Drawn | None:
    """A tournament as it stood after a round: nothing in it follows from what was played or who left later."""
    version = plan_version(tournament)
    if version is None:
        return None
    # Screens and pages read it every few seconds, and planning a large tournament takes seconds.
    outline, left = cached(
        f"standing:{tournament.pk}:{number}",
        _After,
        lambda: _planned_after(tournament, number),
        version=str(version),
        seconds=KEPT_SECONDS,
    )
    whole = bracket_get(tournament, outline)
    if whole is None:
        return None
    for who, participant in whole.participants.items():
        if who not in left:
            participant.withdrawn_at, participant.disqualified_because = None, ""
    return replace(
        whole,
        round=None,
        open_duels={},
        struck=tuple(one for one in whole.struck if one.round <= number),
    )


def _planned_after(tournament: Tournament, number: int) -> _After:
    """Return how a tournament stood after a round, and who had left by then."""
    history = history_of(tournament)
    left = {who: after for who, after in history.left.items() if after <= number}
    duels = tuple(duel for duel in history.duels if duel.round <= number)
    plan = format_of(tournament).plan(replace(history, duels=duels, left=left))
    return Outline(plan.stages, plan.table, plan.notes), tuple(left)
