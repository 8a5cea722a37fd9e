"""Plays, checks, judges and ranks agents, with the same code on a laptop, a worker and a pod; does not use Django.

`make`, `aec` and `parallel` give environments to learn in at home.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from arena_kit.environment.adapters.exports.against import AgainstPlayers, Seat
    from arena_kit.environment.adapters.exports.pettingzoo import ArenaAEC, ArenaParallel
    from arena_kit.environment.spec import EnvironmentSpec

__all__ = ["aec", "make", "parallel"]


def make(
    environment: str,
    opponent: Any = "random",
    *,
    seat: Seat = "alternate",
    render_mode: str | None = None,
    openings: bool = True,
    environments: str | Path = "",
) -> AgainstPlayers:
    """Return one seat of an environment as a Gymnasium environment.

    environment: as in the arena, e.g. `connect-four`. opponent: who sits in the other seats: `random`, an example
    player's name, the path of a folder or zip, a class or object with the player contract, or a function of (state,
    valid_actions); not used with one seat. seat: 0, 1, `alternate` or `random`. openings: whether
    matches begin with the opening of their seed, as rated ones do, where the environment has openings. environments: a
    folder of environments that arena-kit does not hold, such as `arena pull` writes. Raises UnknownEnvironment,
    UnknownOpponent, MissingExtra and ValueError.
    """
    _needs("gymnasium", "gymnasium")
    # Late: `import arena_kit` alone stays quick.
    from arena_kit.environment.adapters.exports.against import AgainstPlayers
    from arena_kit.opponents import opponent_maker

    spec = _spec(environment, environments)
    maker = opponent_maker(spec, opponent) if spec.seats > 1 else None
    return AgainstPlayers(spec, maker, seat=seat, render_mode=render_mode, openings=openings)


def aec(
    environment: str, *, render_mode: str | None = None, openings: bool = True, environments: str | Path = ""
) -> ArenaAEC:
    """Return an environment as PettingZoo's AEC environment.

    openings, environments: as in `make`. Raises UnknownEnvironment and MissingExtra.
    """
    _needs("pettingzoo", "pettingzoo")
    # Late: `import arena_kit` alone stays quick.
    from arena_kit.environment.adapters.exports.pettingzoo import ArenaAEC

    return ArenaAEC(_spec(environment, environments), render_mode, openings=openings)


def parallel(
    environment: str, *, render_mode: str | None = None, openings: bool = True, environments: str | Path = ""
) -> ArenaParallel:
    """Return an environment as PettingZoo's parallel environment.

    openings, environments: as in `make`. Raises UnknownEnvironment and MissingExtra.
    """
    _needs("pettingzoo", "pettingzoo")
    # Late: `import arena_kit` alone stays quick.
    from arena_kit.environment.adapters.exports.pettingzoo import ArenaParallel

    return ArenaParallel(_spec(environment, environments), render_mode, openings=openings)


def _spec(name: str, environments: str | Path) -> EnvironmentSpec:
    """Return the rules of a name. Raises UnknownEnvironment and, for a folder that is not there, ValueError."""
    from pathlib import Path

    # Late: `import arena_kit` alone stays quick.
    from arena_kit.environment.registry import get_spec, use_folder

    if environments:
        if not Path(environments).is_dir():
            raise ValueError(f"There is no folder {environments} with environments.")
        use_folder(Path(environments))
    return get_spec(name)


def _needs(package: str, extra: str) -> None:
    """Raise MissingExtra with what to install, if a package is not installed."""
    from importlib.util import find_spec

    # Late: `import arena_kit` alone stays quick.
    from arena_kit.environment.protocol import MissingExtra

    if find_spec(package) is None:
        hint = f"pip install 'arena-kit[{extra}]'"
        raise MissingExtra(f"This needs the package {package}: {hint}", hint=hint)
