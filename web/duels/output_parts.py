"""The output of a person's own agents during a match, move by move; other people never see it here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser

from arena_kit.environment.replay_file.views import FrameView
from arena_kit.referee.output import END, printed_in
from arena_kit.text import plain_text
from core.duels.replays import Names
from core.duels.selectors import NotStored
from core.models import Duel, PlayedJob, Sitting, User, Validation
from core.submissions.player_logs import player_log_read


@dataclass(frozen=True, slots=True)
class PrintedAt:
    """The output during the move that led to a state, or in `end` after the last one. name: of the player."""

    ply: int
    name: str
    text: str
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class OutputView:
    """The output of a person's agents in a match, in order."""

    found: tuple[PrintedAt, ...]

    @property
    def told(self) -> dict[int, str]:
        """By state: the output of the moves that led there."""
        texts: dict[int, list[str]] = {}
        for one in self.found:
            texts.setdefault(one.ply, []).append(f"{one.name}{', in end()' if one.is_end else ''}:\n{one.text}")
        return {ply: "\n\n".join(found) for ply, found in texts.items()}


def output_view(
    job: PlayedJob, number: int, states: Sequence[FrameView], names: Names, viewer: User | AnonymousUser
) -> OutputView | None:
    """Return what the viewer's own agents printed in a match; None for other people, and if there is nothing."""
    found: list[PrintedAt] = []
    for player in _own_players(job, viewer):
        log = ""
        # A player that printed nothing has no log, and old logs are not kept.
        with suppress(NotStored):
            log = player_log_read(job, player + 1)
        found += _placed(printed_in(log, number), player, states, names[player])
    found.sort(key=lambda one: (one.ply, one.is_end))
    return OutputView(tuple(found)) if found else None


def _own_players(job: PlayedJob, viewer: User | AnonymousUser) -> list[int]:
    """Return the players (0, 1) of a match that belong to a person."""
    match job:
        case Duel():
            owners = (job.player_1.agent.owner_id, job.player_2.agent.owner_id)
        case Validation():
            owners = (job.submission.agent.owner_id,) * 2
        case Sitting():
            owners = (0, job.submission.agent.owner_id)
        case _:
            return []
    return [player for player, owner in enumerate(owners) if viewer.pk is not None and owner == viewer.pk]


def _placed(printed: dict[int, str], player: int, states: Sequence[FrameView], name: str) -> list[PrintedAt]:
    """Return the output with the states that its moves led to; that of a move that was not played has the last one."""
    plies = [state.ply for state in states if player in state.players and not state.is_opening]
    last = states[-1].ply
    return [
        PrintedAt(last if place == END or place >= len(plies) else plies[place], name, plain_text(text), place == END)
        for place, text in printed.items()
    ]
