"""One seat of an environment as a Gymnasium environment; players sit in all other seats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np

from arena_kit.environment.adapters.exports.pictures import RENDER_MODES, Drawn
from arena_kit.environment.adapters.exports.seated_match import TURNS_PER_SECOND, SeatedMatch
from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.spec import EnvironmentSpec

Seat = int | Literal["alternate", "random"]
MakePlayer = Callable[[int], Any]
"""Makes an opponent with the player contract; takes a seed for its chance."""


class OpponentFailed(ArenaEnvironmentError):
    """The opponent raised an exception or played an illegal action; the message names which."""


class AgainstPlayers(Drawn, gymnasium.Env[Any, Any]):
    """Plays one seat. The reward of a step is the sum of the seat's rewards until it acts again.

    info holds `action_mask` (where actions are numbers: 1 for every valid action) and `seat`. An illegal action
    forfeits the match, as in the arena, and `info["forfeited"]` is true then. `reset(options={"seat": 1})` chooses the
    seat of one match.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": TURNS_PER_SECOND}

    def __init__(
        self,
        spec: EnvironmentSpec,
        make_player: MakePlayer | None = None,
        *,
        seat: Seat = "alternate",
        render_mode: str | None = None,
        openings: bool = True,
    ) -> None:
        """make_player: makes the opponent; None with one seat.

        seat: the seat to play; `alternate` changes it with every match, `random` draws it. openings: whether matches
        begin with openings, as rated ones do. Raises ValueError.
        """
        if (make_player is None) != (spec.seats == 1):
            wanted = "no opponent, because it has one seat" if spec.seats == 1 else "an opponent"
            raise ValueError(f"{spec.name} needs {wanted}.")
        self._table = SeatedMatch(spec, render_mode, openings=openings)
        self.metadata = self._table.metadata
        self._make_player, self._wanted, self._matches = make_player, _checked(seat, spec), 0
        self._seat = 0
        self._opponents: dict[int, Any] = {}
        self._unseen: list[float] = []
        self.observation_space = self._table.observation_space
        self.action_space = self._table.action_space
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a match. With a seed, alternation begins again with the first seat."""
        super().reset(seed=seed)
        if seed is not None:
            self._matches = 0
        spec = self._table.spec
        match_seed, chance, drawn = (int(value) for value in self.np_random.integers(2**32, size=3))
        wanted = _checked((options or {}).get("seat", self._wanted), spec)
        chosen = {"alternate": self._matches, "random": drawn}.get(str(wanted), wanted)
        self._seat, self._matches = int(chosen) % spec.seats, self._matches + 1
        self._table.reset(match_seed)
        self._unseen = [0.0] * spec.seats
        self._started: set[int] = set()
        if self._make_player is not None:
            # A new player for every match, so that a seed repeats the match.
            others = (other for other in range(spec.seats) if other != self._seat)
            self._opponents = {other: self._make_player((chance + other) % 2**32) for other in others}
        self._play_others()
        return self._table.observation(self._seat), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play an action and what the opponents answer."""
        table = self._table
        if not table.to_move:
            raise gymnasium.error.ResetNeeded("The match is over, or has not begun: call reset().")
        self._unseen[self._seat] = 0.0
        self._advance(action)
        self._play_others()
        is_over = not table.to_move
        if is_over:
            self._say_goodbye()
        reward = self._unseen[self._seat]
        truncated = is_over and table.truncated
        return table.observation(self._seat), reward, is_over and not truncated, truncated, self._info()

    def action_masks(self) -> Any:
        """Return True for every valid action and False for the others, as MaskablePPO of sb3-contrib reads them.

        Raises ValueError where actions are arrays.
        """
        if not self._table.has_mask:
            raise ValueError(f"In {self._table.spec.name} actions are arrays, which have no mask.")
        return self._table.mask(self._seat).astype(bool)

    def _play_others(self) -> None:
        """Play until this seat acts or the match is over."""
        while (to_move := self._table.to_move) and self._seat not in to_move:
            self._advance(None)

    def _advance(self, action: Any) -> None:
        table = self._table
        chosen = {seat: action if seat == self._seat else self._answer(seat) for seat in table.to_move}
        for seat, reward in enumerate(table.step(chosen)):
            self._unseen[seat] += reward
        if table.forfeited_by not in {None, self._seat}:
            wrong = chosen[table.forfeited_by or 0]
            raise OpponentFailed(f"The opponent played {wrong!r}, which is not a valid action here.")

    def _answer(self, seat: int) -> Any:
        player, state, valid = self._opponents[seat], self._table.observation(seat), self._table.valid_actions(seat)
        reward, self._unseen[seat] = self._unseen[seat], 0.0
        try:
            if seat in self._started:
                return player.step(state, valid, reward)
            self._started.add(seat)
            return player.start(state, valid)
        except Exception as error:
            raise OpponentFailed(f"The opponent raised {type(error).__name__}: {error}") from error

    def _say_goodbye(self) -> None:
        for seat in self._started:
            try:
                self._opponents[seat].end(self._table.observation(seat), self._unseen[seat])
            except Exception as error:
                raise OpponentFailed(f"The opponent's end() raised {type(error).__name__}: {error}") from error

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"seat": self._seat}
        if self._table.has_mask:
            info["action_mask"] = self._table.mask(self._seat)
        if self._table.forfeited_by is not None:
            info["forfeited"] = True
        return info


def _checked(seat: Any, spec: EnvironmentSpec) -> Seat:
    seats: Sequence[Any] = [*range(spec.seats), "alternate", "random"]
    if isinstance(seat, (np.integer, int)) and not isinstance(seat, bool) and int(seat) in range(spec.seats):
        return int(seat)
    if seat in ("alternate", "random"):
        return seat  # type: ignore[no-any-return]  # one of the literals
    raise ValueError(f"There is no seat {seat!r}; choose one of {', '.join(map(repr, seats))}.")
