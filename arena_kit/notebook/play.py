"""`arena_kit.play`: duels and evaluations of players that are objects of this process, by the referee's own rules."""

from __future__ import annotations

import time
from numbers import Integral
from pathlib import Path
from typing import Any

from arena_kit.environment.openings import check_openings
from arena_kit.environment.registry import spec_from
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.notebook.players import LocalPlayer
from arena_kit.notebook.progress import progress
from arena_kit.notebook.results import PlayedEpisodes, PlayedMatches
from arena_kit.referee.play import run_duel, run_evaluation


def play(
    player_1: Any,
    player_2: Any = None,
    environment: str = "",
    *,
    matches: int = 20,
    seed: int = 0,
    environments: str | Path = "",
    quiet: bool = False,
) -> PlayedMatches | PlayedEpisodes:
    """Play matches between two players in this process, as the arena plays a duel, and return the result.

    The referee is the site's: matches begin with openings, players swap seats in pairs of matches that share a seed,
    and a player that raises, plays an illegal action or takes too long forfeits the match. Players are threads of this
    process, without a sandbox: use it for code that you trust. One that never returns loses by the clock, and its
    thread stays.

    player_1, player_2: each a function of (state, valid_actions), a class or an object with the player contract, the
    name of an example player, `random`, or the path of a folder or zip. With one seat there is only player_1.
    environment: as in the arena, e.g. `connect-four`. matches: how many matches, or episodes with one seat, at least 1.
    seed: of the openings and of players that take a seed; the first seed of the episodes. environments: a folder of
    environments that arena-kit does not hold. quiet: no progress bar.

    Raises UnknownEnvironment, UnknownOpponent, MissingExtra and BrokenEnvironment, ValueError for other arguments, and
    PlatformFault if the environment fails.
    """
    spec = spec_from(environments, environment)
    given: Any = matches
    if isinstance(given, bool) or not isinstance(given, Integral) or given < 1:
        raise ValueError(f"matches must be a whole number of at least 1, not {given!r}.")
    if spec.seats > 2:
        raise ValueError(f"{spec.name} has {spec.seats} seats; play() takes environments with one seat or two.")
    if (player_2 is None) != (spec.seats == 1):
        needs = "one player" if spec.seats == 1 else "two players"
        raise ValueError(f"{spec.name} has {spec.seats} seat{'s' * (spec.seats > 1)}: give {needs}.")
    if spec.seats == 1:
        return _evaluate(spec, LocalPlayer.of(spec, player_1, seed), matches, seed, quiet=quiet)
    return _duel(spec, player_1, player_2, matches, seed, quiet=quiet)


def _duel(spec: EnvironmentSpec, one: Any, other: Any, matches: int, seed: int, *, quiet: bool) -> PlayedMatches:
    check_openings(spec)
    # Different seeds, so that a player with chance does not mirror itself.
    players = LocalPlayer.of(spec, one, seed), LocalPlayer.of(spec, other, seed + 2**31)
    names = players[0].name, players[1].name
    if names[0] == names[1]:
        names = f"{names[0]} 1", f"{names[1]} 2"
    begun = time.monotonic()
    # An object that plays both sides follows one match at a time, too.
    parallel = 1 if any(player.limit for player in players) else spec.parallel_matches
    with progress(matches, "matches", quiet=quiet) as show:
        played = run_duel(
            spec,
            lambda index: players[index].launch(spec.limits, parallel),
            names=names,
            seed=seed,
            match_count=matches,
            parallel_matches=parallel,
            limits=spec.limits,
            clock=time.monotonic,
            on_progress=show,
        )
    return PlayedMatches(spec, played.record, time.monotonic() - begun)


def _evaluate(spec: EnvironmentSpec, player: LocalPlayer, count: int, seed: int, *, quiet: bool) -> PlayedEpisodes:
    begun = time.monotonic()
    parallel = player.limit or spec.parallel_matches
    with progress(count, "episodes", quiet=quiet) as show:
        done = iter(range(1, count + 1))
        played = run_evaluation(
            spec,
            lambda: player.launch(spec.limits, parallel),
            name=player.name,
            seeds=range(seed, seed + count),
            parallel_episodes=parallel,
            limits=spec.limits,
            clock=time.monotonic,
            on_episode=lambda _: show(next(done)),
        )
    failure = "" if played.failure is None else played.failure.sentence
    return PlayedEpisodes(spec, played.record, time.monotonic() - begun, failure)
