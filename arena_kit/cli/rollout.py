"""`arena rollout`: let an agent work at the tasks of a package, each in a fresh world with a browser, on Docker."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena_kit.cli.common import (
    DONE,
    NO,
    TRY_LATER,
    BadArgument,
    positive,
    print_json,
    run_command,
    tell,
)
from arena_kit.cli.install import add_install_option
from arena_kit.cli.output import folder_made
from arena_kit.errors import PlatformFault, parts_needed
from arena_kit.machine.processes import WINDOWS

if TYPE_CHECKING:
    from arena_kit.cli.rollout_home import Home

NULL, SCRIPTED, MODEL = "null", "scripted", "model"


def main(arguments: Sequence[str]) -> int:
    """Play rollouts and print their verdicts.

    Returns 0 if every rollout was judged, 1 if the platform has spoilt one, 2 for wrong arguments; with --accept or
    --replay 3 if a task or a replay does not hold.
    """
    return run_command(_parser(), arguments, _run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arena rollout",
        description="Let an agent work at tasks in an application: a fresh world and a browser for each attempt.",
        epilog="Exit code: 0 everything was judged, 1 the platform failed, 2 wrong arguments, 3 a task was not "
        "accepted (--accept) or a replay ended differently (--replay).",
    )
    parser.add_argument("tasks", type=Path, metavar="TASKS", help="tasks.json, or the package for its own tasks")
    parser.add_argument("--package", type=Path, required=True, metavar="FOLDER", help="the package: a folder or a zip")
    parser.add_argument(
        "--agent",
        default=SCRIPTED,
        metavar="AGENT",
        help="scripted (the oracles of the tasks), null, model, or a folder, zip or image with "
        "player.py (default scripted)",
    )
    parser.add_argument("--only", action="append", metavar="ID", help="id of a task to play; may be repeated")
    parser.add_argument("--attempts", type=positive, default=1, help="attempts at each task (default 1)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the application's data (default 0)")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="keep the recordings of all attempts here")
    parser.add_argument("--no-video", action="store_true", help="make no videos")
    parser.add_argument(
        "--accept",
        action="store_true",
        help="only test each task: its oracle must solve it, and doing nothing must not",
    )
    parser.add_argument(
        "--replay",
        type=Path,
        metavar="FOLDER",
        help="play the recorded rollout in FOLDER again and compare what it leaves",
    )
    parser.add_argument(
        "--judge", type=Path, metavar="FOLDER", help="judge the recorded rollout in FOLDER again, without Docker"
    )
    parser.add_argument("--memory", type=positive, default=4, metavar="GIB", help="for all worlds (default 4)")
    parser.add_argument(
        "--base-image",
        default="rl-arena-base",
        metavar="IMAGE",
        help="image that players run on (default rl-arena-base)",
    )
    parser.add_argument(
        "--browser-image",
        default="rl-arena-browser",
        metavar="IMAGE",
        help="made by make-browser-image.sh (default rl-arena-browser)",
    )
    parser.add_argument(
        "--app-images",
        default="rl-arena-app",
        metavar="PREFIX",
        help="of the images made by make-app-images.sh (default rl-arena-app)",
    )
    _add_model_options(parser)
    add_install_option(parser)
    parser.set_defaults(sandbox="docker")
    return parser


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model", "The model that --agent model, or a player, reaches by the gateway.")
    group.add_argument("--model", default="", metavar="ID", help="the model's name at its endpoint")
    group.add_argument(
        "--model-url", default="", metavar="URL", help="address of the endpoint, e.g. https://example.org/v1"
    )
    group.add_argument("--model-key", default="", metavar="FILE", help="file that holds the key of the endpoint")
    group.add_argument(
        "--model-form", choices=("openai", "gemini"), default="openai", help="protocol of the endpoint (default openai)"
    )
    group.add_argument("--vision", action="store_true", help="also show the player pictures of the page")
    group.add_argument("--prompt", default="", metavar="TEXT", help="text to add to the instructions for the model")
    group.add_argument("--temperature", type=float, help="of the model's answers (default: the endpoint's)")
    group.add_argument(
        "--price",
        type=float,
        nargs=2,
        default=(0.0, 0.0),
        metavar=("IN", "OUT"),
        help="price of a million tokens, for the limit on cost",
    )


def _run(options: argparse.Namespace, folder: Path) -> int:
    if WINDOWS:
        raise BadArgument("Rollouts need Linux containers, which cannot connect to Windows: run this command in WSL 2.")
    try:
        # Late: most commands need no worlds.
        from arena_kit.cli import rollout_home
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("docker", "re2", "scipy"):
            raise
        raise BadArgument(f"Rollouts need further packages: {parts_needed('docker,rollout,video')}.") from None
    if options.output is not None:
        folder_made(options.output)
    if options.agent == MODEL and not options.model_url:
        raise BadArgument("The agent model needs --model and --model-url.")
    if options.judge is not None:
        return _show(options, rollout_home.judged(options, options.judge))
    try:
        return _carry_out(options, rollout_home.opened(options, folder))
    except PlatformFault as fault:
        tell(f"this machine cannot do it now ({fault.code}): {fault}")
        if options.json:
            print_json({"code": fault.code, "error": str(fault)})
        return TRY_LATER


def _carry_out(options: argparse.Namespace, opened: AbstractContextManager[Home]) -> int:
    with opened as home:
        if options.replay is not None:
            return _show(options, home.replay(options.replay))
        if options.accept:
            return _show(options, home.accept())
        results: list[dict[str, Any]] = []
        for task in home.tasks:
            for number in range(1, options.attempts + 1):
                results.append(home.attempt(task, number))
                tell(_line(results[-1]))
        return _show(options, {"rollouts": results, **home.summary(results)})


def _line(result: dict[str, Any]) -> str:
    sentence = str(result["sentence"]).partition("\n")[0]
    said = f" {sentence}" if sentence else ""
    steps = "1 step" if result["steps"] == 1 else f"{result['steps']} steps"
    spent = f"{steps}, {result['seconds']:.1f} s"
    return f"{result['task']}: {result['outcome']}, {spent}.{said}"


def _show(options: argparse.Namespace, data: dict[str, Any]) -> int:
    if options.json:
        print_json(data)
    for sentence in data.get("lines", ()):
        tell(sentence)
    sys.stdout.flush()
    if data.get("refused"):
        return NO
    return TRY_LATER if data.get("spoilt") else DONE
