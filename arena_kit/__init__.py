"""Plays, checks, judges and ranks agents, with the same code on a laptop, a worker and a pod; does not use Django.

`make`, `aec` and `parallel` give environments to learn in at home. `play`, `check`, `write_agent`, `login`, `submit`,
`history` and `compare` do in a notebook what the command `arena` does in a terminal.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from arena_kit.registered import env_spec, register_soon

if TYPE_CHECKING:
    from pathlib import Path

    from gymnasium.vector import SyncVectorEnv

    from arena_kit.environment.adapters.exports.against import AgainstPlayers, Seat
    from arena_kit.environment.adapters.exports.pettingzoo import ArenaAEC, ArenaParallel
    from arena_kit.environment.spec import EnvironmentSpec
    from arena_kit.notebook.acts import check, compare, history, login, submit
    from arena_kit.notebook.play import play
    from arena_kit.notebook.writing import write_agent

__all__ = [
    "aec",
    "check",
    "compare",
    "history",
    "login",
    "make",
    "make_vec",
    "parallel",
    "play",
    "submit",
    "write_agent",
]

_ACTS = {
    **dict.fromkeys(("check", "compare", "history", "login", "submit"), "arena_kit.notebook.acts"),
    "play": "arena_kit.notebook.play",
    "write_agent": "arena_kit.notebook.writing",
}
"""The modules of the functions that are imported when they are first used: `import arena_kit` alone stays quick."""
register_soon()


def __getattr__(name: str) -> Any:
    if name in _ACTS:
        return getattr(import_module(_ACTS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ACTS})


def make(
    environment: str,
    opponent: Any = "random",
    *,
    seat: Seat = "alternate",
    render_mode: str | None = None,
    openings: bool = True,
    environments: str | Path = "",
) -> AgainstPlayers:
    """Return one seat of an environment as a Gymnasium environment; `gymnasium.make("arena/NAME")` does the same.

    environment: as in the arena, e.g. `connect-four`. opponent: who sits in the other seats: `random`, an example
    player's name, the path of a folder or zip, a class or object with the player contract, or a function of (state,
    valid_actions); not used with one seat. seat: 0, 1, `alternate` or `random`. render_mode: `ansi`, `svg` or
    `rgb_array`. openings: whether matches begin with the opening of their seed, as rated ones do, where the environment
    has openings. environments: a folder of environments that arena-kit does not hold, such as `arena pull` writes.
    Raises UnknownEnvironment, UnknownOpponent, MissingExtra and ValueError.
    """
    _needs("gymnasium", "gymnasium")
    # Late: `import arena_kit` alone stays quick.
    from arena_kit.environment.adapters.exports.against import AgainstPlayers
    from arena_kit.opponents import opponent_maker

    spec = _spec(environment, environments)
    maker = opponent_maker(spec, opponent) if spec.seats > 1 else None
    made = AgainstPlayers(spec, maker, seat=seat, render_mode=render_mode, openings=openings)
    given = {"opponent": opponent, "seat": seat, "render_mode": render_mode, "openings": openings}
    made.spec = env_spec(spec.slug, **given, environments=environments)
    return made


def make_vec(environment: str, num_envs: int = 1, opponent: Any = "random", **further: Any) -> SyncVectorEnv:
    """Return several of what `make` returns as one vector environment of Gymnasium, which steps them together.

    opponent, further: as in `make`, for each of them. `gymnasium.make_vec("arena/NAME")` does the same. Raises as
    `make`, and ValueError without an environment.
    """
    _needs("gymnasium", "gymnasium")
    if num_envs < 1:
        raise ValueError(f"num_envs must be at least 1, not {num_envs}.")
    # Late: `import arena_kit` alone stays quick.
    from gymnasium.vector import SyncVectorEnv

    return SyncVectorEnv([partial(make, environment, opponent, **further) for _ in range(num_envs)])


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
    # Late: `import arena_kit` alone stays quick.
    from arena_kit.environment.registry import spec_from

    return spec_from(environments, name)


def _needs(package: str, extra: str) -> None:
    """Raise MissingExtra with what to install, if a package is not installed."""
    from importlib.util import find_spec

    # Late: `import arena_kit` alone stays quick.
    from arena_kit.environment.protocol import MissingExtra
    from arena_kit.errors import parts_needed

    if find_spec(package) is None:
        hint = parts_needed(extra)
        raise MissingExtra(f"This needs the package {package}: {hint}", hint=hint)
