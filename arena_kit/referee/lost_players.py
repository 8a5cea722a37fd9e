"""The consequences of a player that dies or falls silent: a match is forfeited, and a new container plays the others
on."""

from __future__ import annotations

from collections.abc import Callable

from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.link import PlayerLink, PlayerLost
from arena_kit.referee.match import Match
from arena_kit.referee.matches import DuelMatches
from arena_kit.referee.notes import Notes
from arena_kit.referee.processor_time import Processor
from arena_kit.referee.thinking import Thinking
from arena_kit.referee.wire import Question
from arena_kit.sandbox.ending import Ending

Forfeit = Callable[[Match, int, PlayerFault, str], None]
"""Takes a running match, the player that loses it, why, and the detail."""


class Losses:
    """Starts the players of a duel, again after each loss of a container, and finds the match that caused the loss.

    forfeit: ends a match. is_wanted: whether players still have to be started. max_restarts: how often a player may be
    started again.
    """

    def __init__(
        self,
        links: tuple[PlayerLink, PlayerLink],
        matches: DuelMatches,
        processor: Processor,
        thinking: Thinking,
        notes: Notes,
        *,
        forfeit: Forfeit,
        is_wanted: Callable[[], bool],
        max_restarts: int,
        clock: Callable[[], float],
    ) -> None:
        self._links, self._matches, self._processor, self._thinking = links, matches, processor, thinking
        self._notes, self._forfeit, self._is_wanted = notes, forfeit, is_wanted
        self._max_restarts, self._clock = max_restarts, clock
        self.out_of_play: list[PlayerFault | None] = [None, None]
        """By player: why it forfeits all remaining matches; None while it plays."""
        self.why_out = ["", ""]
        """By player: the detail of that fault."""
        self.unexplained: list[tuple[list[Match], PlayerLost] | None] = [None, None]
        """By player: the matches that were open at its last loss, while it is unknown which of them caused it."""

    @property
    def all_play(self) -> bool:
        return self.out_of_play == [None, None]

    def absent(self, match: Match) -> int | None:
        """Return the player that forfeits a match before it begins; None if both can play.

        When neither can play, the first to move forfeits, so each forfeits one match of a pair.
        """
        lost = [player for player in (0, 1) if self.out_of_play[player] is not None]
        if not lost:
            return None
        return lost[0] if len(lost) == 1 else match.seats[0]

    def lose(self, link: PlayerLink, loss: PlayerLost) -> None:
        """Forfeit the match that lost the container; the others go on in a new container where they stopped."""
        player = link.index
        fault = loss.fault
        begun = self._clock() - link.waited_seconds
        if fault is PlayerFault.DIED and link.ending() is Ending.OUT_OF_MEMORY:
            fault = PlayerFault.OUT_OF_MEMORY
        self._notes.add(
            f"Player {player + 1}: {fault.value} with {len(link.outstanding)} open questions. {loss.detail}"
        )
        suspects = [request for request in link.outstanding if not request.match.is_over]
        self.unexplained[player] = None
        link.close()
        if len(link.outstanding) == 1 and suspects:
            self._forfeit(suspects[0].match, player, fault, loss.detail)
        # When the cause is unclear, the open questions are asked again one at a time to find it.
        if len(link.outstanding) > 1 and suspects:
            # If the loss does not happen again, the first of these matches forfeits; none if an END may be the cause.
            payers = [request.match for request in suspects] if len(suspects) == len(link.outstanding) else []
            self.unexplained[player] = (payers, PlayerLost(fault, loss.detail))
        else:
            suspects = []
            self._count_restart(link)
        if self.out_of_play[player] is None:
            self._restart(link, suspects)
        self._processor.forgiven()
        self._links[1 - player].forgive_pause()
        # The time that this took counts as the player's.
        self._thinking.seconds[player] += self._clock() - begun

    def give_up_search(self, link: PlayerLink) -> None:
        """Forfeit one of the suspected matches when the loss did not happen again, or dying at random would be free."""
        unexplained, self.unexplained[link.index] = self.unexplained[link.index], None
        if unexplained is not None:
            matches, loss = unexplained
            match = next((match for match in matches if not match.is_over), None)
            if match is not None:
                self._forfeit(match, link.index, loss.fault, loss.detail)
        self._count_restart(link)

    def _count_restart(self, link: PlayerLink) -> None:
        link.restarts += 1
        if link.restarts > self._max_restarts:
            self.take_out(link.index, PlayerFault.TOO_MANY_RESTARTS)

    def start(self, link: PlayerLink) -> bool:
        """Start a player's container, if it is wanted; return whether the player is ready. One that fails is out."""
        if not self._is_wanted():
            return False
        try:
            link.open()
            self._processor.started(link.index)
        except PlayerLost as loss:
            self._notes.add(f"Player {link.index + 1} could not be started: {loss.fault.value}. {loss.detail}")
            self.take_out(link.index, loss.fault, loss.detail)
            return False
        return True

    def _restart(self, link: PlayerLink, suspects: list[Question]) -> None:
        """Start a container anew, and repeat the running matches there. suspects: open at the last loss."""
        if self.start(link):
            link.suspect(suspects)
            for match in self._matches.running.values():
                for request in match.history[link.index]:
                    link.waiting.append(request)

    def take_out(self, player: int, fault: PlayerFault, detail: str = "") -> None:
        """Let a player forfeit all remaining matches."""
        self._links[player].close()
        self.out_of_play[player], self.why_out[player] = fault, detail
        for match in list(self._matches.running.values()):
            self._forfeit(match, player, fault, detail)
