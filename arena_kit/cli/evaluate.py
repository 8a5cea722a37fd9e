"""`arena evaluate`: play episodes of one player and score them as the site does."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from arena_kit.cli.common import BadArgument, not_negative, positive, print_json, run_command
from arena_kit.cli.environments import add_environment_options, chosen_spec
from arena_kit.cli.install import add_install_option, install
from arena_kit.cli.needed import requirements_of
from arena_kit.cli.output import content_write, output_check, output_open
from arena_kit.cli.players import (
    add_sandbox_options,
    chosen_sandbox,
    display_name,
    launch_of,
    player_image,
    sandbox_check,
)
from arena_kit.environment.episodes import write_evaluation
from arena_kit.environment.registry import all_specs
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import PlatformFault
from arena_kit.machine.files import temporary_of_user
from arena_kit.ranking.scores import summarise_scores
from arena_kit.referee.faults import last_words
from arena_kit.referee.play import PlayedEvaluation, run_evaluation
from arena_kit.sandbox.base import Container
from arena_kit.sandbox.cores import free_core
from arena_kit.text import plain_text

SCORED, NOT_PLAYED, FAILED = 0, 1, 3
FIRST_SEED = 1
"""The public seeds, which the site uses for practice, begin with this one."""


def main(arguments: Sequence[str]) -> int:
    """Play episodes and print the score.

    Returns 0 if every episode was played, 3 if the player failed, 1 if the platform failed, 2 for wrong arguments.
    """
    return run_command(_parser(), arguments, lambda options, folder: _play(_spec(options), options, folder))


def _spec(options: argparse.Namespace) -> EnvironmentSpec:
    if options.json and str(options.log) == "-":
        raise BadArgument("Standard output takes one document: leave out --json or --log -.")
    spec = chosen_spec(options)
    if spec.seats != 1:
        raise BadArgument(f"{spec.name} has {spec.seats} seats. Use `arena play`.")
    # Raises if the environment needs a package that is missing, before any player starts.
    spec.make()
    return spec


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arena evaluate",
        description="Play episodes of an environment with one seat, with the referee and limits of the site.",
        epilog="Exit code: 0 all episodes were played, 3 the player failed, 1 the platform failed, 2 wrong arguments.",
    )
    parser.add_argument("player", help="a folder or zip with player.py, or an image name (sandbox docker)")
    add_environment_options(parser, (spec.public_id for spec in all_specs() if spec.seats == 1), metavar="ID")
    parser.add_argument("--episodes", type=positive, help="number of episodes (default: as in a validation)")
    parser.add_argument(
        "--first-seed",
        type=not_negative,
        default=FIRST_SEED,
        metavar="SEED",
        help="seed of the first episode; the others count up from it (default 1)",
    )
    parser.add_argument("--parallel", type=positive, help="episodes played at once (default: the environment's)")
    parser.add_argument("--records", type=Path, metavar="FILE", help="write the records of all episodes here (a zip)")
    parser.add_argument("--log", type=Path, metavar="FILE", help="write the player's log here; - for standard output")
    add_sandbox_options(parser)
    add_install_option(parser)
    return parser


def _play(spec: EnvironmentSpec, options: argparse.Namespace, folder: Path) -> int:
    for path in (options.records, options.log):
        if path is not None and str(path) != "-":
            output_check(path)
    image = player_image(options.player, options, folder / "player")
    required = requirements_of(options.player, image)
    sandbox = chosen_sandbox(options, folder / "channel")
    cores = temporary_of_user("arena-cores")

    def launch() -> Container:
        return sandbox.launch(launch_of(image, spec.limits, core=core, packages=packages))

    count = options.episodes or spec.matches_per_validation
    try:
        [image] = sandbox_check(sandbox, image)
        packages = install(options.player, required, options)
        begun = time.monotonic()
        with free_core(cores) as core:
            played = run_evaluation(
                spec,
                launch,
                name=display_name(options.player),
                seeds=range(options.first_seed, options.first_seed + count),
                parallel_episodes=options.parallel or spec.parallel_matches,
                limits=spec.limits,
                clock=time.monotonic,
            )
    except PlatformFault as error:
        print(f"arena: the player could not be tried ({error.code}): {error}", file=sys.stderr)
        if options.json:
            print_json({"environment": spec.id, "sandbox": options.sandbox, "code": error.code, "error": str(error)})
        return NOT_PLAYED
    if options.records is not None:
        with output_open(options.records) as file:
            write_evaluation(played.record, file)
    if str(options.log) == "-":
        # The log may hold control sequences for terminals.
        sys.stdout.write(plain_text(played.player_log))
    elif options.log is not None:
        content_write(options.log, played.player_log.encode)
    print(verdict_text(played, time.monotonic() - begun), file=sys.stderr)
    if options.json:
        print_json({**verdict_data(spec, played), "sandbox": options.sandbox})
    return SCORED if played.failure is None else FAILED


def verdict_data(spec: EnvironmentSpec, played: PlayedEvaluation) -> dict[str, object]:
    """Return the score, or the reason for its absence, as one JSON object."""
    scores = [episode.score for episode in played.record.episodes]
    data: dict[str, object] = {"environment": spec.id, "episodes": len(scores), "code": "", "error": ""}
    if played.failure is not None:
        return data | {"code": played.failure.fault.value, "error": played.failure.sentence, "score": None}
    found = summarise_scores(scores)
    return data | {
        "score": found.mean.value,
        "low": found.mean.low,
        "high": found.mean.high,
        "interquartile_mean": found.interquartile_mean,
        "median": found.median,
        "worst_decile": found.worst_decile,
    }


def verdict_text(played: PlayedEvaluation, seconds: float) -> str:
    """Return the score of the episodes, or the reason for its absence, as lines for a terminal."""
    episodes = played.record.episodes
    if played.failure is not None:
        words = [played.failure.sentence, *last_words(played.failure.fault, played.player_log)]
        return "\n".join([*words, f"No score ({played.failure.fault}) after {len(episodes)} whole episodes."])
    scores = summarise_scores([episode.score for episode in episodes])
    moves = sum(episode.length for episode in episodes)
    thinking = 1000 * sum(episode.thinking_seconds for episode in episodes) / max(1, moves)
    return (
        f"{len(episodes)} episodes, {moves} steps in {seconds:.1f} s, {thinking:.3f} ms a move.\n"
        f"Score: {scores.mean.value:g} (95% interval {scores.mean.low:g} to {scores.mean.high:g}), "
        f"interquartile mean {scores.interquartile_mean:g}, median {scores.median:g}, "
        f"worst tenth {scores.worst_decile:g}."
    )
