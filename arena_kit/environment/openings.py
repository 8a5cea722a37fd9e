"""Draws the opening of a match: the first plies, which the referee plays before the players act.

An opening follows from the environment's spec and the seed of the match alone. So both matches of a seat-swapped pair
share it, and every reader can draw it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache

from arena_kit.environment.loading import load
from arena_kit.environment.openings_key import Openings, in_words
from arena_kit.environment.protocol import ArenaEnvironmentError, BrokenEnvironment, Environment, IllegalAction
from arena_kit.environment.server.client import RemoteEnvironment, draw_opening
from arena_kit.environment.spec import EnvironmentSpec

ATTEMPTS = 1_000
"""Openings drawn for a match before the environment counts as broken."""
CHECKED_SEEDS = 20
"""Openings drawn by `check_openings`."""
Decided = Callable[[Environment], bool]


class NoOpening(BrokenEnvironment):
    """No opening can be drawn: the key `openings` or the book does not fit the rules."""


@lru_cache(
    maxsize=8192
)  # the duels of an edition share their openings, and to see that it is open takes longer than a match
def opening_of(spec: EnvironmentSpec, seed: int) -> tuple[int, ...]:
    """Return the actions of the opening of a match; `()` without openings.

    The actions are those of a record: one for each seat that acts, step by step. Positions that are already over, and
    those that the key `decided` rejects, are drawn again. Of an environment from outside, its server draws the opening.
    seed: of the match, see `pair_seed`. Raises NoOpening, and whatever the rules and that function raise.
    """
    openings = spec.openings
    if openings is None:
        return ()
    if spec.runs_apart:
        return draw_opening(spec, seed)
    decided = _decided(spec, openings)
    environment = spec.make()
    for attempt in range(ATTEMPTS):
        environment.reset(seed)
        line = (
            _book_line(environment, openings, seed, attempt)
            if openings.is_book
            else _random_line(environment, openings, seed, attempt)
        )
        if line is not None and environment.to_move and not decided(environment):
            return line
    raise NoOpening(f"{openings.where}: no opening that leaves the match open was found in {ATTEMPTS} draws.")


def begin(environment: Environment, seed: int, opening: tuple[int, ...]) -> tuple[float, ...]:
    """Reset a match and play its opening; return the sums of the opening's rewards by seat, `()` without an opening.

    Raises what the rules raise, and NoOpening.
    """
    if isinstance(environment, RemoteEnvironment):
        return environment.begin(seed, opening)
    environment.reset(seed)
    return tuple(sum(rewards, 0.0) for rewards in zip(*play_opening(environment, opening), strict=True))


def play_opening(environment: Environment, line: tuple[int, ...]) -> list[tuple[float, ...]]:
    """Play the actions of an opening; return the rewards of each step. Raises what the rules raise, and NoOpening."""
    rewards = []
    position = 0
    while position < len(line):
        movers = environment.to_move
        if not movers or position + len(movers) > len(line):
            raise NoOpening(f"The opening {in_words(line)} does not fit the rules.")
        rewards.append(environment.step(dict(zip(movers, line[position:], strict=False))))
        position += len(movers)
    return rewards


def check_openings(spec: EnvironmentSpec) -> None:
    """Play every line of the book, or draw some openings. Raises NoOpening with the file, the key and a sentence."""
    openings = spec.openings
    if openings is None:
        return
    if spec.runs_apart:
        # Its trial has looked at the book, in a process of its own.
        for seed in range(CHECKED_SEEDS):
            opening_of(spec, seed)
        return
    try:
        decided = _decided(spec, openings)
    except (ImportError, AttributeError) as error:
        raise NoOpening(f"{openings.where}: decided: {openings.decided} cannot be loaded: {error}.") from None
    for line in openings.lines:
        name = f"{openings.where}: file: the opening {in_words(line)} of {openings.file}"
        environment = spec.make()
        environment.reset(0)
        try:
            plies = len(play_opening(environment, line))
        except ArenaEnvironmentError as error:
            raise NoOpening(f"{name} has an illegal move: {error}") from None
        least, most = openings.plies
        if not least <= plies <= most:
            raise NoOpening(f"{name} has {plies} plies, but plies is {least}..{most}.")
        if not environment.to_move:
            raise NoOpening(f"{name} ends with a finished match.")
        if decided(environment):
            raise NoOpening(f"{name} ends with a position that is decided already.")
    for seed in range(CHECKED_SEEDS):
        opening_of(spec, seed)


def _decided(spec: EnvironmentSpec, openings: Openings) -> Decided:
    decided: Decided = load(openings.decided, spec.folder) if openings.decided else _undecided
    return decided


def _undecided(_: Environment) -> bool:
    return False


def draw(seed: int, attempt: int, place: int, count: int) -> int:
    """Return a number from 0 to count - 1 that is drawn from the seed of a match.

    It is the 8-byte BLAKE2b hash of "opening/seed/attempt/place" as an unsigned little-endian integer, modulo count.
    """
    text = f"opening/{seed}/{attempt}/{place}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") % count


def _random_line(environment: Environment, openings: Openings, seed: int, attempt: int) -> tuple[int, ...] | None:
    """Play a random opening and return it; None when the match ends on the way."""
    least, most = openings.plies
    # Place 0 draws the number of plies, and every later place an action.
    line: list[int] = []
    for _ in range(least + draw(seed, attempt, 0, most - least + 1)):
        movers = environment.to_move
        if not movers:
            return None
        chosen = {}
        for seat in movers:
            valid = environment.observe(seat).valid_actions
            line.append(valid[draw(seed, attempt, len(line) + 1, len(valid))])
            chosen[seat] = line[-1]
        environment.step(chosen)
    return tuple(line)


def _book_line(environment: Environment, openings: Openings, seed: int, attempt: int) -> tuple[int, ...] | None:
    """Play a line of the book and return it; None when the match of this seed does not allow it."""
    line = openings.lines[draw(seed, attempt, 0, len(openings.lines))]
    try:
        play_opening(environment, line)
    except (IllegalAction, NoOpening):
        # What is drawn from the seed can make a line impossible. `check_openings` finds lines that never fit.
        return None
    return line
