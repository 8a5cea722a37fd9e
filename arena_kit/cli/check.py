"""`arena check`: judge a submission as a site does, first its files and then its play against itself."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from tqdm import tqdm

from arena_kit.cli.archives import Unpackable, archive_of
from arena_kit.cli.common import DONE, LABEL, NO, TRY_LATER, BadArgument, NotInstalled, run_command, show, tell
from arena_kit.cli.environments import add_environment_options, chosen_spec
from arena_kit.cli.install import add_install_option, install, of_script
from arena_kit.cli.players import add_sandbox_options, chosen_sandbox, launch_of
from arena_kit.environment.outside.report import report_here
from arena_kit.environment.registry import all_specs
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import PlatformFault
from arena_kit.html import lines
from arena_kit.machine.files import temporary_of_user
from arena_kit.referee.faults import last_words
from arena_kit.referee.play import run_duel, run_evaluation
from arena_kit.referee.script import ScriptFailure, run_script
from arena_kit.referee.verdict import FoundFault, Pace, duel_fault, duel_pace, evaluation_fault, evaluation_pace
from arena_kit.sandbox.base import FOLDER_PREFIX, Container, Sandbox
from arena_kit.sandbox.cores import free_core
from arena_kit.sandbox.scripts import ScriptLaunch, ScriptLimits
from arena_kit.upload.admission import archive_admit, too_large
from arena_kit.upload.archive import unpack_archive
from arena_kit.upload.findings import Finding, archive_findings
from arena_kit.upload.zip_safety import ArchiveRefused

FIRST_SEED, SELF_SEED = 1, 0
MAX_UPLOAD_BYTES = 100 * 1024 * 1024
"""The largest upload of a site that has not changed upload_bytes in QUOTAS."""


def _environment(options: argparse.Namespace) -> int:
    """Report on the folder of an environment, as a site does with one that is uploaded."""
    folder = Path(options.player)
    if not (folder / "info.yml").is_file():
        raise BadArgument(f"--environment is missing: {folder} is not the folder of an environment.")
    report = report_here(folder)
    data = {"passes": not report.trouble, "lines": [asdict(line) for line in report.lines]}
    show(options, data, "\n".join(f"{line.mark:4}  {line.about}: {line.sentence}" for line in report.lines))
    return NO if report.trouble else DONE


@dataclass(frozen=True, slots=True)
class Checked:
    """The verdict. code, sentence: why it is refused or fails; empty if it passes. step: files, build, play or script.

    played: how many matches against itself, or with is_alone episodes. pace: how long a whole duel takes like that.
    """

    step: str
    code: str = ""
    sentence: str = ""
    played: int = 0
    log: str = ""
    warnings: tuple[Finding, ...] = ()
    is_alone: bool = False
    pace: Pace | None = None

    @property
    def passes(self) -> bool:
        """True if the arena would take it."""
        return not self.code

    def __str__(self) -> str:
        return "\n".join([_text(self), *map(_warning, self.warnings)])

    def _repr_html_(self) -> str:
        return lines(str(self))


def main(arguments: Sequence[str]) -> int:
    """Check a submission. Returns 0 if a site would take it, 3 if not, 1 if it could not be tried, 2 for arguments."""
    return run_command(_parser(), arguments, _check)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arena check",
        description="Check a submission as the arena does: the files with the words of the upload form, then play "
        "against itself (with one seat: a few episodes) within the limits of the environment.",
        epilog="Exit code: 0 the arena would take it, 3 it would be refused or fail, 1 it could not be tried, "
        "2 wrong arguments.",
    )
    parser.add_argument("player", help="a folder, a zip or a .py file; or the folder of an environment of your own")
    add_environment_options(parser, (spec.slug for spec in all_specs()), required=False)
    parser.add_argument("--files-only", action="store_true", help="do not play")
    parser.add_argument("--seed", type=int, default=SELF_SEED, help="seed of the play against itself (default 0)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    add_sandbox_options(parser)
    add_install_option(parser)
    return parser


def _check(options: argparse.Namespace, folder: Path) -> int:
    if options.environment is None:
        return _environment(options)
    spec = chosen_spec(options)
    try:
        checked = checked_player(options, spec, folder)
    except PlatformFault as error:
        trouble = {"passes": None, "environment": spec.id, "code": error.code, "error": str(error)}
        show(options, trouble, f"It could not be tried ({error.code}): {error}")
        return TRY_LATER
    except NotInstalled as missing:
        trouble = {"passes": None, "environment": spec.id, "code": "not_installed", "error": str(missing)}
        show(options, trouble, f"It could not be tried (not_installed): {missing}")
        return TRY_LATER
    data = {
        "passes": not checked.code,
        "environment": spec.id,
        "sandbox": "" if checked.step == "files" else options.sandbox,
        "step": checked.step,
        "code": checked.code,
        "error": checked.sentence,
        "played": checked.played,
        "whole_seconds": None if checked.pace is None else round(checked.pace.seconds, 3),
        "limit_seconds": None if checked.pace is None else checked.pace.limit_seconds,
        "warnings": [asdict(warning) for warning in checked.warnings],
    }
    show(options, data, str(checked))
    return NO if checked.code else DONE


def _text(checked: Checked) -> str:
    if checked.code:
        words = "Refused" if checked.step in ("files", "build") else "It fails"
        return "\n".join([f"{words} ({checked.code}): {checked.sentence}", *last_words(checked.code, checked.log)])
    if checked.step == "files":
        return "The files are in order. It was not played."
    if checked.step == "script":
        return f"The files are in order, and the script reports a score: {checked.sentence}."
    what = "episodes" if checked.is_alone else "matches against itself"
    passed = f"It passes: the files are in order, and it played {checked.played} {what} without a fault."
    if checked.pace is None:
        return passed
    return f"{passed}\n{'Warning: ' if checked.pace.is_cut else ''}{checked.pace.sentence}"


def _warning(found: Finding) -> str:
    where = ":".join(str(part) for part in (found.file, found.line) if part)
    return f"Warning{f' ({where})' if where else ''}: {found.message}"


def checked_player(options: argparse.Namespace, spec: EnvironmentSpec, folder: Path) -> Checked:
    """Check files and play.

    Raises PlatformFault and NotInstalled if it could not be tried, BadArgument and ArenaEnvironmentError.
    """
    try:
        with archive_of(options.player, lambda: spec.seats == 1) as (file, notes):
            if file.seek(0, os.SEEK_END) > MAX_UPLOAD_BYTES:
                return Checked("files", "upload_too_large", too_large(MAX_UPLOAD_BYTES))
            admitted = archive_admit(file, environment=spec.name, takes_scripts=spec.seats == 1)
            for note in (*notes, *admitted.notes):
                tell(note)
            warnings = _warnings(file, folder, admitted.notes)
            if options.files_only:
                return Checked("files", warnings=warnings)
            unpack_archive(file, folder / "player")
    except (ArchiveRefused, Unpackable) as refusal:
        return Checked("files", refusal.code, str(refusal))
    # Raises if the environment needs a package that is missing.
    spec.make()
    sandbox = chosen_sandbox(options, folder / "channel")
    sandbox.check()
    image = FOLDER_PREFIX + str(folder / "player")
    is_script = admitted.report.is_script
    required = of_script(admitted.requirements, options) if is_script else admitted.requirements
    try:
        packages = install(options.player, required, options)
    except NotInstalled as missing:
        if not missing.code:
            raise
        return Checked("build", missing.code, str(missing), warnings=warnings)
    if is_script:
        return replace(_run_script(sandbox, image, packages, spec), warnings=warnings)
    return replace(_play(options, sandbox, image, packages, spec), warnings=warnings)


def _warnings(file: IO[bytes], folder: Path, told: Sequence[str]) -> tuple[Finding, ...]:
    """Return what often goes wrong and refuses nothing. told: notes that were printed already."""
    # Another process opens the file by its path, and that of an archive without one is not a path.
    copy = folder / "warned.zip"
    file.seek(0)
    with copy.open("wb") as target:
        shutil.copyfileobj(file, target)
    file.seek(0)
    found = archive_findings(file, str(copy))
    copy.unlink()
    return tuple(warning for warning in found.warnings if warning.message not in told)


def _play(options: argparse.Namespace, sandbox: Sandbox, image: str, packages: str, spec: EnvironmentSpec) -> Checked:
    """Let the submission play against itself, or a few episodes on public seeds."""
    cores = temporary_of_user("arena-cores")
    count = spec.matches_per_validation
    until = time.monotonic() + spec.limits.validation_seconds
    with (
        free_core(cores) as core,
        tqdm(total=count, unit=" matches", disable=True if options.quiet else None, file=sys.stderr) as bar,
    ):

        def launch(_: int = 0) -> Container:
            return sandbox.launch(launch_of(image, spec.limits, core=core, packages=packages))

        if spec.seats == 1:
            evaluation = run_evaluation(
                spec,
                launch,
                name="player",
                seeds=range(FIRST_SEED, FIRST_SEED + count),
                parallel_episodes=spec.parallel_matches,
                limits=spec.limits,
                clock=time.monotonic,
                on_episode=lambda _: _advance(bar, int(bar.n) + 1),
                trial_until=until,
            )
            fault = evaluation_fault(evaluation, spec.limits)
            played = len(evaluation.record.episodes)
            pace = evaluation_pace(evaluation, spec.limits, whole=spec.episodes_per_evaluation)
            return replace(_verdict(fault, played, evaluation.player_log), is_alone=True, pace=pace)
        duel = run_duel(
            spec,
            launch,
            names=("player", "player"),
            seed=options.seed,
            match_count=count,
            parallel_matches=spec.parallel_matches,
            limits=spec.limits,
            clock=time.monotonic,
            one_core=core is not None,
            on_progress=lambda done: _advance(bar, done),
            trial_until=until,
        )
        played = len(duel.record.matches)
        pace = duel_pace(duel, spec.limits, planned=count, whole=spec.matches_per_duel)
        return replace(_verdict(duel_fault(duel, spec.limits), played, "\n".join(duel.player_logs)), pace=pace)


def _advance(bar: tqdm, done: int) -> None:  # type: ignore[type-arg]  # tqdm is not a generic type at run time
    bar.update(done - bar.n)


def _verdict(fault: FoundFault | None, played: int, log: str) -> Checked:
    if fault is None:
        return Checked("play", played=played)
    return Checked("play", fault.code, fault.sentence, played, log)


def _run_script(sandbox: Sandbox, image: str, packages: str, spec: EnvironmentSpec) -> Checked:
    """Run a script once, as the site evaluates it."""
    launch = ScriptLaunch(
        image=image,
        name=f"arena-cli-{os.getpid()}",
        environment_id=spec.public_id if spec.gymnasium is None else spec.gymnasium.id,
        limits=ScriptLimits(),
        labels={LABEL: str(os.getpid())},
        packages=packages,
    )
    run = run_script(sandbox, launch)
    if isinstance(run.verdict, ScriptFailure):
        return Checked("script", run.verdict.code.value, run.verdict.error, log=run.end.log)
    return Checked("script", sentence=f"{run.verdict.score:g}", played=1)
