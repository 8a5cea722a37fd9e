"""Steps of many matches at once, for environments in a server: each question to it takes about as long as a move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arena_kit.environment.protocol import Action, BrokenEnvironment, Environment
from arena_kit.environment.server.client import Beginning, begin_ahead, step_ahead
from arena_kit.errors import PlatformFault
from arena_kit.referee.faults import ENVIRONMENT_FAILED


def steps_play_ahead(steps: Sequence[tuple[Environment, Mapping[int, Action]]], matches: Sequence[int] = ()) -> None:
    """Play the steps that matches will take next, with one frame. Raises PlatformFault.

    matches: the numbers of these matches in their duel.
    """
    if len(steps) < 2:
        return
    try:
        step_ahead(steps)
    except BrokenEnvironment as error:
        raise PlatformFault(str(error), code=ENVIRONMENT_FAILED, matches=tuple(matches)) from error


def matches_begin_ahead(begun: Sequence[tuple[Environment, Beginning]], matches: Sequence[int]) -> None:
    """Begin matches with one frame. begun: environments, each with its seed and opening. Raises PlatformFault.

    matches: their numbers in their duel.
    """
    if len(begun) < 2:
        return
    try:
        begin_ahead(begun)
    except BrokenEnvironment as error:
        raise PlatformFault(str(error), code=ENVIRONMENT_FAILED, matches=tuple(matches)) from error
