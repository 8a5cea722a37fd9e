"""How long each player of a duel has thought, and which of them pays when the duel takes too long."""

from __future__ import annotations

from collections.abc import Sequence

from arena_kit.errors import PlatformFault


class Thinking:
    """Counts the seconds that the referee has waited for each of two players."""

    def __init__(self) -> None:
        self.seconds = [0.0, 0.0]

    def slower(self, elapsed: float, waited: Sequence[float]) -> int:
        """Return the player who has thought longer, of a duel whose time is up.

        elapsed: seconds since the first question. waited: by player, how long it has been thinking about questions that
        are open. Raises PlatformFault if the players have not taken half of the time.
        """
        spent = [seconds + more for seconds, more in zip(self.seconds, waited, strict=True)]
        if sum(spent) < elapsed / 2:
            raise PlatformFault("The duel took too long for a reason other than its players.", code="duel_too_slow")
        return 0 if spent[0] >= spent[1] else 1
