"""The typical loss in a duel, and the analyses of an edition's losses for those who lost."""

from __future__ import annotations

import logging
from collections import defaultdict
from datetime import timedelta

from django.utils import timezone

from arena_kit.environment.records import Fault, Outcome
from core.duels.analyses import analysis_begin, is_analysable
from core.duels.selectors import NotStored, records_open, spec_get
from core.models import Audience, Duel, JobState, Tournament

logger = logging.getLogger(__name__)
MOST_OF_AN_OWNER = 5
"""The most analyses that one edition puts in line for one owner."""
MOST_OF_AN_EDITION = 40
ACTIVE = timedelta(days=14)
"""Only owners who were logged in within this time are likely to look at an analysis."""


def typical_loss(duel: Duel, player: int) -> int | None:
    """Return the number of the match of middle length that a player (0 or 1) has lost by play, else by a fault.

    The shortest ones were mostly lost in the opening already, where no move of the player was to blame. None without a
    lost match. Raises NotStored.
    """
    lost = (Outcome.PLAYER_2, Outcome.PLAYER_1)[player]
    with records_open(duel) as archive:
        index = [row for row in archive.index if row.outcome is lost]
    by_play = [row for row in index if row.fault is Fault.NONE] or index
    by_length = sorted(by_play, key=lambda row: (row.moves, row.number))
    return by_length[len(by_length) // 2].number if by_length else None


def losses_analyse(tournament: Tournament) -> int:
    """Put analyses of losses of an ended edition in line, one for each opponent; return how many.

    The worst results of an owner come first. Where the game has no solver, nothing is done.
    """
    if tournament.results != Audience.PUBLIC:
        return 0
    since = timezone.now() - ACTIVE
    duels = tournament.duels.filter(state=JobState.SUCCEEDED, void=None, outcome__in=("PLAYER_1", "PLAYER_2"))
    by_owner: dict[int, list[tuple[float, Duel, int]]] = defaultdict(list)
    for duel in duels.select_related("player_1__agent__owner", "player_2__agent__owner"):
        player = 1 if duel.outcome == "PLAYER_1" else 0
        owner = (duel.player_1, duel.player_2)[player].agent.owner
        if owner.last_login is not None and owner.last_login >= since and owner.is_active:
            wins = (duel.player_1_wins, duel.player_2_wins)[player]
            by_owner[owner.pk].append((wins / duel.match_count, duel, player))
    made = 0
    for losses in by_owner.values():
        for _, duel, player in sorted(losses, key=lambda row: (row[0], row[1].pk))[:MOST_OF_AN_OWNER]:
            if made >= MOST_OF_AN_EDITION:
                return made
            made += _analyse(duel, player)
    return made


def _analyse(duel: Duel, player: int) -> bool:
    """Put the analysis of a duel's typical loss in line; return whether it is new."""
    if not is_analysable(spec_get(duel)):
        return False
    try:
        number = typical_loss(duel, player)
    except NotStored as missing:
        logger.warning("The losses of %s are not analysed: %s", duel, missing)
        return False
    owner = (duel.player_1, duel.player_2)[player].agent.owner
    return number is not None and analysis_begin(user=owner, played=duel, number=number)
