"""The typical loss in a duel, and the analyses of losses in editions and challenges for those who lost."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from arena_kit.environment.records import Fault, Outcome
from core.duels.analyses import analysis_begin, is_analysable
from core.duels.goals import goal_reached
from core.duels.playouts import playouts_begin, playouts_waiting
from core.duels.selectors import NotStored, records_open, spec_get
from core.models import Analysis, Audience, Blunder, Challenge, Duel, JobState, Tournament, User

logger = logging.getLogger(__name__)
SOLVED, PLAYED_OUT = (5, 40), (1, 5)
"""The most losses of one owner, and of all, that one edition has analysed by a solver and by playouts, which take much
longer."""
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
    """Have losses of an ended edition analysed, for owners who are likely to look; return how many."""
    if tournament.results != Audience.PUBLIC:
        return 0
    since = timezone.now() - ACTIVE
    return _analyse(tournament.duels.all(), lambda owner: owner.last_login is not None and owner.last_login >= since)


def challenge_losses_analyse(challenge: Challenge) -> int:
    """Have the losses of a person who has asked for a challenge analysed; return how many."""
    return _analyse(challenge.duels.all(), lambda owner: owner.pk == challenge.user_id)


def unexplained_loss_play_out(analysis: Analysis) -> bool:
    """Let a lost match be played out in whose positions a solver found no mistake; return whether that begins.

    The first agent of a beginner loses so early that a solver sees only the end. Only the agent's own owner gets this,
    and only until one position of the agent is known.
    """
    duel = analysis.duel
    loser = None if duel is None else {"PLAYER_1": duel.player_2, "PLAYER_2": duel.player_1}.get(duel.outcome)
    if duel is None or loser is None or loser.agent.owner_id != analysis.asked_by_id:
        return False
    if Blunder.objects.filter(agent=loser.agent_id).exists() or playouts_waiting(duel.environment) >= PLAYED_OUT[1]:
        return False
    try:
        return playouts_begin(duel=duel, number=analysis.match_number)
    except NotStored as missing:
        logger.warning("The losses of %s are not played out: %s", duel, missing)
        return False


def _analyse(duels: QuerySet[Duel], is_wanted: Callable[[User], bool]) -> int:
    """Begin analyses of lost duels of one environment, one for each opponent, the worst results of an owner first.

    Return how many. Where the game has no solver, the two versions play positions of the match out.
    """
    ended = duels.filter(state=JobState.SUCCEEDED, void=None, outcome__in=("PLAYER_1", "PLAYER_2"))
    by_owner: dict[int, list[tuple[float, Duel, int]]] = defaultdict(list)
    for duel in ended.select_related("player_1__agent__owner", "player_2__agent__owner"):
        # A duel that was won may have missed the share that an assignment asks for.
        player = 1 if duel.outcome == "PLAYER_1" and goal_reached(duel) is not False else 0
        owner = (duel.player_1, duel.player_2)[player].agent.owner
        if owner.is_active and is_wanted(owner):
            wins = (duel.player_1_wins, duel.player_2_wins)[player]
            by_owner[owner.pk].append((wins / duel.match_count, duel, player))
    made = 0
    for losses in by_owner.values():
        for place, (_, duel, player) in enumerate(sorted(losses, key=lambda row: (row[0], row[1].pk))):
            try:
                is_solved = is_analysable(spec_get(duel))
                of_an_owner, of_all = SOLVED if is_solved else PLAYED_OUT
                if place >= of_an_owner or made >= of_all:
                    break
                made += _begin(duel, player, is_solved=is_solved)
            except NotStored as missing:
                logger.warning("The losses of %s are not analysed: %s", duel, missing)
    return made


def _begin(duel: Duel, player: int, *, is_solved: bool) -> bool:
    """Begin with the typical loss of a player in a duel; return whether that is new. Raises NotStored."""
    number = typical_loss(duel, player)
    if number is None:
        return False
    if not is_solved:
        return playouts_begin(duel=duel, number=number)
    return analysis_begin(user=(duel.player_1, duel.player_2)[player].agent.owner, played=duel, number=number)
