"""The published part of a running duel: its finished matches at once, the moves of one that is played after a delay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby

from django.db.models.functions import Now

from arena_kit.environment.openings import opening_of
from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.record_archive import MatchSummary
from arena_kit.environment.records import Fault, MatchRecord, Outcome
from arena_kit.environment.replay_file.views import FrameView, NotDrawable, last_view
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.referee.match import match_seed
from core.duels.replays import duel_names
from core.duels.selectors import NotPlayed, NotStored, match_among, records_open, spec_get
from core.models import Duel, JobState, ToldMoves
from core.watching.services import why_not_live

DELAY = timedelta(seconds=10)
"""How much later than the players' moves people see them."""
MOST_ACTIONS = 2_000
"""Longer matches are not told."""


@dataclass(frozen=True, slots=True)
class LiveState:
    """A match of a running duel as people see it now, some seconds after it was played. match: its number."""

    match: int
    view: FrameView


def index_get(duel: Duel) -> Sequence[MatchSummary]:
    """Return the matches of a duel as its page lists them: those that were told while it runs. Raises NotStored."""
    if duel.state == JobState.RUNNING:
        return told_index(duel)
    if not duel.records:
        return ()
    with records_open(duel) as archive:
        return archive.index


def match_shown(duel: Duel, number: int) -> tuple[MatchRecord, int, Sequence[MatchSummary]]:
    """Return a match by its number from 1, the number of matches, and the list of them once the duel is over.

    While the duel runs, only matches that were told are found. Raises NotStored.
    """
    if duel.state == JobState.RUNNING:
        return told_match(duel, number), duel.match_count, ()
    record, index = match_among(duel, number)
    return record, len(index), index


def told_records(duel: Duel) -> list[MatchRecord]:
    """Return the finished matches of a running duel that its worker has stored, by number. One query."""
    return [record for record in _records(duel, _told(duel)) if record.outcome is not Outcome.NONE]


def told_index(duel: Duel) -> list[MatchSummary]:
    """Return the finished matches of a running duel as its page lists them. One query."""
    return [
        MatchSummary(
            record.number, record.outcome, record.fault, record.faulty_player, record.seats[0], len(record.actions)
        )
        for record in told_records(duel)
    ]


def told_match(duel: Duel, number: int) -> MatchRecord:
    """Return a finished match of a running duel. Raises NotStored."""
    for record in _records(duel, _told(duel, match=number)):
        if record.outcome is not Outcome.NONE:
            return record
    raise NotPlayed(
        f"Match {number} of this duel is not over yet, or it was played while no page of this duel was open. "
        "All matches appear when the duel is over."
    )


def live_state(duel: Duel) -> LiveState | None:
    """Return the state of the match that is followed, as it was DELAY ago; None if nothing was told then.

    Raises NotStored when it cannot be drawn.
    """
    followed = _told(duel, told_at__lte=Now() - DELAY, is_followed=True)
    records = list(_records(duel, followed))
    if not records:
        return None
    record = records[-1]
    try:
        return LiveState(record.number, last_view(spec_get(duel), record, duel_names(duel)))
    except NotDrawable as error:
        raise NotStored(str(error)) from None


def _told(duel: Duel, **wanted: object) -> Iterable[ToldMoves]:
    """Return what the present attempt has told; nothing of a duel that is not running, or must not be told."""
    if duel.state != JobState.RUNNING or duel.claim_token is None or why_not_live(duel):
        return ()
    return ToldMoves.objects.filter(duel=duel, claim_token=duel.claim_token, **wanted).order_by("match", "begin")


def _records(duel: Duel, rows: Iterable[ToldMoves]) -> Iterable[MatchRecord]:
    """Yield the matches in rows, each as far as they hold it; what does not fit together is left out.

    Their outcome is NONE, and their fault that of the platform, while they are not over.
    """
    spec = spec_get(duel)
    for number, parts in groupby(rows, key=lambda row: row.match):
        actions: list[int] = []
        last = None
        for last in parts:
            if last.begin != len(actions) or not _are_actions(last.actions, spec):
                break
            actions += last.actions
        else:
            if last is not None and 1 <= number <= duel.match_count and len(actions) <= MOST_ACTIONS:
                yield _record(duel, spec, number, tuple(actions), last)


def _are_actions(actions: object, spec: EnvironmentSpec) -> bool:
    return isinstance(actions, list) and all(
        type(action) is int and 0 <= action < spec.action_count for action in actions
    )


def _record(duel: Duel, spec: EnvironmentSpec, number: int, actions: tuple[int, ...], last: ToldMoves) -> MatchRecord:
    seed = match_seed(spec, duel.seed, number) if duel.opening is None else duel.seed
    try:
        opening = opening_of(spec, seed) if duel.opening is None else duel.opening
    except ArenaEnvironmentError:
        raise NotStored("The code of this environment has failed, so the match cannot be drawn now.") from None
    is_forfeit = last.outcome and last.faulty_player in (0, 1)
    return MatchRecord(
        number=number,
        seed=seed,
        seats=(0, 1) if number % 2 else (1, 0),
        actions=actions,
        outcome=Outcome(last.outcome),
        scores=(last.score_1, last.score_2),
        fault=Fault.PLAYER if is_forfeit else Fault.NONE if last.outcome else Fault.PLATFORM,
        faulty_player=last.faulty_player if is_forfeit else None,
        opening_count=min(len(opening), len(actions)),
    )
