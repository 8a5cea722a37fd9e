"""Plays, checks, judges and ranks agents, with the same code on a laptop, a worker and a pod; does not use Django.

`make`, `aec` and `parallel` give environments to learn in at home.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arena_kit.environment.adapters.exports.against import AgainstPlayers, Seat
    from arena_kit.environment.adapters.exports.pettingzoo import ArenaAEC, ArenaParallel

__all__ = ["aec", "make", "parallel"]


def make(
    environment: str,
    opponent: Any = "random",
    *,
    seat: Seat = "alternate",
    render_mode: str | None = None,
    openings: bool = True,
) -> AgainstPlayers:
    """Return one seat of an environment as a Gymnasium environment.

    environment: as in the arena, e.g. `connect-four`. opponent: who sits in the other seats: `random`, an example
    player's name, the path of a folder or zip, a class or object with the player contract, or a function of (state,
    valid_actions); not used with one seat. seat: 0, 1, `alternate` or `random`. openings: whether
    matches begin with the opening of their seed, as rated ones do, where the environment has openings. Raises
    UnknownEnvironment, UnknownOpponent, MissingExtra and ValueError.
    """
    _needs("gymnasium", "gymnasium")
    from arena_kit.environment.adapters.exports.against import AgainstPlayers
    from arena_kit.environment.registry import get_spec
    from arena_kit.opponents import opponent_maker

    spec = get_spec(environment)
    maker = opponent_maker(spec, opponent) if spec.seats > 1 else None
    return AgainstPlayers(spec, maker, seat=seat, render_mode=render_mode, openings=openings)


def aec(environment: str, *, render_mode: str | None = None, openings: bool = True) -> ArenaAEC:
    """Return an environment as PettingZoo's AEC environment.

    openings: as in `make`. Raises UnknownEnvironment and MissingExtra.
    """
    _needs("pettingzoo", "pettingzoo")
    from arena_kit.environment.adapters.exports.pettingzoo import ArenaAEC
    from arena_kit.environment.registry import get_spec

    return ArenaAEC(get_spec(environment), render_mode, openings=openings)


def parallel(environment: str, *, render_mode: str | None = None, openings: bool = True) -> ArenaParallel:
    """Return an environment as PettingZoo's parallel environment.

    openings: as in `make`. Raises UnknownEnvironment and MissingExtra.
    """
    _needs("pettingzoo", "pettingzoo")
    from arena_kit.environment.adapters.exports.pettingzoo import ArenaParallel
    from arena_kit.environment.registry import get_spec

    return ArenaParallel(get_spec(environment), render_mode, openings=openings)


def _needs(package: str, extra: str) -> None:
    """Raise MissingExtra with what to install, if a package is not installed."""
    from importlib.util import find_spec

    from arena_kit.environment.protocol import MissingExtra

    if find_spec(package) is None:
        hint = f"pip install 'arena-kit[{extra}]'"
        raise MissingExtra(f"This needs the package {package}: {hint}", hint=hint)
