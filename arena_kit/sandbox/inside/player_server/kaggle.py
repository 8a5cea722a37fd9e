"""Plays functions as they are written for Kaggle, and gives them what is true in the arena."""

from __future__ import annotations

import copy
import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Dict

from . import serving
from .signatures import parameters, required

LIMITS = {"move_seconds": 2.0, "bank_seconds": 20.0, "duel_seconds": 1800.0, "max_steps": 1000, "seats": 2}
"""The usual limits of a play, for a referee that names none."""
LEAST_CELLS = 9
MOST_KEPT = 1_000
"""The values of a file's variables that are set anew for every match; larger ones, such as tables, stay."""


class Struct(Dict[str, Any]):
    """A dictionary whose values are attributes too, as Kaggle's agents expect."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class Variables:
    """The variables of a file that hold plain values, such as the moves so far: as Kaggle, each match begins with them.

    Truth values, which usually say that something has been loaded, and what is loaded since stay.
    """

    def __init__(self, module: Any) -> None:
        self._names = vars(module)
        self._first = {
            name: copy.deepcopy(value)
            for name, value in self._names.items()
            if not name.startswith("__") and not isinstance(value, bool) and is_plain(value)
        }

    def renew(self) -> None:
        """Set the variables as they were when the file was loaded."""
        for name, value in self._first.items():
            now = self._names.get(name)
            if is_plain(now, 1 << 30) and now != value:
                self._names[name] = copy.deepcopy(value)


def is_plain(value: Any, most: int = MOST_KEPT) -> bool:
    """Return whether a value is made of numbers, texts and containers, at most `most` of them."""
    waiting, count = [value], 0
    while waiting:
        one = waiting.pop()
        count += 1
        if isinstance(one, dict):
            waiting += [*one, *one.values()][: most + 1]
        elif isinstance(one, (list, tuple, set, frozenset, deque)):
            waiting += list(one)[: most + 1]
        elif not (one is None or isinstance(one, (bool, int, float, str, bytes))):
            return False
        if count > most:
            return False
    return True


def board_of(hello: Any) -> tuple[int, int, int] | None:
    """Return columns, rows and how many in a row win, where observations have the shape of Kaggle's boards.

    A column is dropped into, or every cell is an action; the number in a row is that of the usual games.
    """
    observation, actions = hello.get("observation", {}), hello.get("actions", {})
    count, size = actions.get("count", 0), math.prod(observation.get("shape", ()))
    if "int" not in observation.get("dtype", "") or not count:
        return None
    # The last value may be the player to move.
    for cells in (size, size - 1):
        side = math.isqrt(cells) if cells >= LEAST_CELLS else 0
        if side and count == cells == side * side:
            return side, side, min(side, 3 if side < 5 else 5)
        if side and count >= 3 and cells % count == 0 and cells // count >= 3:
            return count, cells // count, 4
    return None


class Kaggle:
    """Gives a function `agent(observation, configuration)` the player contract.

    Where observations have the shape of a board it gets `board` as in Kaggle's connectx and tictactoe, and always
    `state`. It plays one match at a time unless the file sets `max_parallel_matches`.
    """

    def __init__(self, function: Callable[..., Any], module: Any) -> None:
        self._function = function
        positional = [p for p in parameters(function) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self._is_configured = required(function) is None or len(positional) >= 2
        self._seat = self._step = 0
        self._over_seconds = 0.0
        asked = getattr(module, "max_parallel_matches", None)
        self.max_parallel_matches = asked or 1
        self._variables = None if asked and asked != 1 else Variables(module)

    def arena_sit(self, seat: int) -> None:
        """Play the next match in this seat."""
        self._seat = seat

    def start(self, state: Any, valid_actions: Any) -> Any:
        self._step, self._over_seconds = 0, 0.0
        if self._variables is not None:
            self._variables.renew()
        return self.step(state, valid_actions, 0.0)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any:
        values = state.ravel().tolist() if hasattr(state, "ravel") else list(state)
        valid = valid_actions.tolist() if hasattr(valid_actions, "tolist") else list(valid_actions)
        limits = {**LIMITS, **serving.environment.get("play", {})}
        move_seconds, bank_seconds = limits["move_seconds"], limits["bank_seconds"]
        observation = Struct(
            step=self._step,
            remainingOverageTime=max(0.0, bank_seconds - self._over_seconds),
            mark=self._seat + 1,
            playerId=self._seat,
            legalActions=valid,
            reward=prev_reward,
            state=state,
        )
        configuration = Struct(
            actTimeout=move_seconds,
            timeout=move_seconds,
            agentTimeout=bank_seconds,
            episodeSteps=int(limits["max_steps"]),
            runTimeout=limits["duel_seconds"],
        )
        if shape := board_of(serving.environment):
            columns, rows, in_a_row = shape
            # Cells are 1 and -1 here; Kaggle's are the marks 1 and 2.
            observation.board = [2 if cell < 0 else cell for cell in values[: columns * rows]]
            observation.step = sum(map(bool, observation.board))
            configuration.update(columns=columns, rows=rows, inarow=in_a_row)
        # Kaggle counts the moves of all players.
        self._step += int(limits["seats"])
        arguments = (observation, configuration) if self._is_configured else (observation,)
        begun = time.monotonic()
        action = self._function(*arguments)
        self._over_seconds += max(0.0, time.monotonic() - begun - move_seconds)
        return action

    def end(self, state: Any, prev_reward: float) -> None:
        pass
