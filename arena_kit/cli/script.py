"""`arena script`: run a script submission as the site does and read its score."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from arena_kit.cli.common import LABEL, BadArgument, print_json, run_command
from arena_kit.cli.install import add_install_option, install, of_script
from arena_kit.cli.needed import requirements_of
from arena_kit.cli.output import content_write, output_check
from arena_kit.cli.players import add_sandbox_options, chosen_sandbox, image_name, sandbox_check, unpack
from arena_kit.referee.script import ScriptFailure, ScriptRun, run_script
from arena_kit.sandbox.base import FOLDER_PREFIX, SandboxError
from arena_kit.sandbox.scripts import ScriptLaunch, ScriptLimits
from arena_kit.text import plain_text

SCORED, NOT_RUN, NO_SCORE = 0, 1, 3
FILE = "submission.py"


def main(arguments: Sequence[str]) -> int:
    """Run a script submission and print its score.

    Returns 0 if it has a score, 3 if it has none, 1 if the platform failed, 2 for wrong arguments.
    """
    return run_command(_parser(), arguments, _run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arena script",
        description="Run a script submission with the arena's limits and read the score that it prints.",
        epilog="Exit code: 0 it has a score, 3 it has none, 1 it could not be run, 2 wrong arguments.",
    )
    parser.add_argument("script", help=f"a folder or zip with {FILE}, a single .py file, or an image name")
    parser.add_argument("--environment", required=True, metavar="ID", help="the script's argument, e.g. CartPole-v1")
    parser.add_argument("--main-file", metavar="NAME", help=f"the file of the folder to run as {FILE}")
    parser.add_argument("--seconds", type=float, help="time limit (default 300)")
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="write the end of its output here; - for standard output"
    )
    add_sandbox_options(parser)
    add_install_option(parser)
    return parser


def _run(options: argparse.Namespace, folder: Path) -> int:
    if options.json and str(options.log) == "-":
        raise BadArgument("Standard output takes one document: leave out --json or --log -.")
    if options.log is not None and str(options.log) != "-":
        output_check(options.log)
    image = _image(options, folder / "files")
    try:
        limits = ScriptLimits()
        launch = ScriptLaunch(
            image=image,
            name=f"arena-cli-{os.getpid()}",
            environment_id=options.environment,
            limits=limits if options.seconds is None else replace(limits, seconds=options.seconds),
            labels={LABEL: str(os.getpid())},
        )
    except ValueError as error:
        raise BadArgument(str(error)) from None
    required = requirements_of(options.script, image)
    if image.startswith(FOLDER_PREFIX):
        required = of_script(required, options)
    sandbox = chosen_sandbox(options, folder / "channel")
    try:
        sandbox_check(sandbox, image, is_script=True)
        run = run_script(sandbox, replace(launch, packages=install(options.script, required, options)))
    except SandboxError as error:
        print(f"arena: the script could not be run ({error.code}): {error}", file=sys.stderr)
        if options.json:
            print_json({"sandbox": options.sandbox, "code": error.code, "error": str(error)})
        return NOT_RUN
    if str(options.log) == "-":
        # The log may hold control sequences for terminals.
        sys.stdout.write(plain_text(run.end.log))
    elif options.log is not None:
        content_write(options.log, run.end.log.encode)
    print(plain_text(verdict_text(run)), file=sys.stderr)
    if options.json:
        print_json({**verdict_data(run), "sandbox": options.sandbox})
    return NO_SCORE if isinstance(run.verdict, ScriptFailure) else SCORED


def _image(options: argparse.Namespace, copy: Path) -> str:
    """Return what the sandbox starts for a folder, a zip, a file or the name of an image. Raises BadArgument."""
    path = Path(options.script)
    main_file = options.main_file
    if path.is_file() and path.suffix == ".py":
        copy.mkdir()
        folder = copy
        shutil.copyfile(path, copy / FILE)
    elif path.is_file():
        folder = unpack(path, copy)
    elif path.is_dir():
        folder = path.resolve()
        if main_file is not None:
            folder = Path(shutil.copytree(folder, copy, symlinks=True))
    else:
        return image_name(options.script, options)
    if main_file is not None and main_file != FILE:
        if Path(main_file).name != main_file or not (folder / main_file).is_file():
            raise BadArgument(f"{options.script} has no file {main_file}.")
        # An upload is refused, too. Writing here could also follow a link out of the copy.
        if os.path.lexists(folder / FILE):
            raise BadArgument(f"{main_file} would be run as {FILE}, but there is another {FILE}.")
        shutil.copyfile(folder / main_file, folder / FILE)
    if not (folder / FILE).is_file():
        raise BadArgument(f"{options.script} has no {FILE}; --main-file names the file to run in its place.")
    return FOLDER_PREFIX + str(folder)


def verdict_data(run: ScriptRun) -> dict[str, object]:
    """Return the score of a run, or the reason for its absence, as one JSON object."""
    verdict = run.verdict
    if isinstance(verdict, ScriptFailure):
        return {"score": None, "code": verdict.code.value, "error": plain_text(verdict.error)}
    metrics = dict(verdict.metrics) if isinstance(verdict.metrics, Mapping) else list(verdict.metrics or ())
    return {"score": verdict.score, "code": "", "error": "", "metrics": metrics, "episodes": verdict.episodes}


def verdict_text(run: ScriptRun) -> str:
    """Return the score of a run, or the reason for its absence, as lines for a terminal."""
    used = f", {run.end.cpu_seconds:.1f} s of processor time" if run.end.cpu_seconds is not None else ""
    took = f"It ran for {run.end.wall_seconds:.1f} s{used}."
    verdict = run.verdict
    if isinstance(verdict, ScriptFailure):
        return f"{verdict.error}\n{took}\nNo score ({verdict.code})."
    lines = [took]
    if isinstance(verdict.metrics, Mapping):
        lines.append("Metrics: " + ", ".join(f"{name} {value:g}" for name, value in verdict.metrics.items()) + ".")
    elif verdict.metrics is not None:
        lines.append("Metrics: " + ", ".join(f"{value:g}" for value in verdict.metrics) + ".")
    if verdict.episodes is not None:
        lines.append(f"Episodes: {verdict.episodes}.")
    return "\n".join([*lines, f"Score: {verdict.score:g}, self-reported."])
