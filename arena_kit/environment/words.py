"""Moves in the words of a game, as its environment offers them by the key `move_words`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from arena_kit.environment.loading import load
from arena_kit.environment.protocol import Action, Frame
from arena_kit.environment.server.client import draw
from arena_kit.environment.server.frames import Drawing
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.text import plain_line

MOST_CHARACTERS = 120
"""The longest text of a move that an environment from outside may give."""


def move_in_words(spec: EnvironmentSpec, frame: Frame, action: Action) -> str:
    """Return a move as people call it, e.g. `column 3`, without a verb and a full stop.

    frame: the state before the move. Raises BrokenEnvironment for an environment from outside, and what the function of
    any other one raises.
    """
    if isinstance(action, bytes):
        return ", ".join(f"{value:.4g}" for value in action_values(spec, action))
    if spec.move_words:
        if spec.runs_apart:
            return plain_line(draw(spec, Drawing.WORDS, {"frame": frame, "action": action}))[:MOST_CHARACTERS]
        return words_here(spec, frame, action)
    return spec.action_names[action] if spec.action_names else str(action)


def words_here(spec: EnvironmentSpec, frame: Frame, action: int) -> str:
    """Return the words of a move in this process, whatever the environment's code may do."""
    words: Callable[[Frame, int], str] = load(spec.move_words, spec.folder)
    return str(words(frame, action))


def action_values(spec: EnvironmentSpec, action: bytes) -> list[float]:
    """Return the values of an action that is an array."""
    assert spec.action is not None
    values: list[float] = np.frombuffer(action, np.dtype(spec.action.wire).newbyteorder("<")).tolist()
    return values
