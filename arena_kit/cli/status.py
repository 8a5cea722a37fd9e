"""`arena status`: show how far a version is, why it waits or failed, and the rank of its agent."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from arena_kit.cli.common import DONE, NO, run_command, show
from arena_kit.cli.naming import OWN_VERSION_HELP, version_named
from arena_kit.cli.sites import add_site_option, client_of
from arena_kit.client import Client
from arena_kit.client.answers import Job, Version

FAILED = frozenset({"FAILED", "CANCELLED", "DELETED"})


def main(arguments: Sequence[str]) -> int:
    """Show the status of a version. Returns 0, or 3 if the version failed."""
    parser = argparse.ArgumentParser(
        prog="arena status",
        description="Show how far a version is: its build, its validation, its evaluation, its rank.",
        epilog="Exit code: 0 it is ready or under way, 3 it failed, 1 the network or the site failed, "
        "2 wrong arguments, 4 log in first.",
    )
    parser.add_argument("version", help=OWN_VERSION_HELP)
    add_site_option(parser)
    return run_command(parser, arguments, lambda options, _: _status(options))


def _status(options: argparse.Namespace) -> int:
    client = client_of(options)
    version = version_named(client, options.version)
    waiting = waiting_job(client, version)
    show(options, version_data(version, waiting), version_text(version, waiting))
    return NO if version.status in FAILED else DONE


def waiting_job(client: Client, version: Version) -> Job | None:
    """Return the job of a version that is not over, with what it waits for; None if all are over."""
    phase = next((phase for phase in version.phases if not phase.is_over), None)
    return None if phase is None else client.job(phase.kind, phase.id)


def version_data(version: Version, waiting: Job | None) -> dict[str, object]:
    """Return a version as JSON: the site's answer, and the job that it waits for."""
    return {**version.answer, "job": None if waiting is None else waiting.answer}


def version_text(version: Version, waiting: Job | None) -> str:
    """Return the status of a version as lines for a terminal."""
    lines = [f"{version.title} in {version.environment}: {version.status.lower()}", f"  id {version.id}"]
    lines += [
        f"  {phase.kind:12} {phase.state.lower()}" + (f" ({phase.error_code})" if phase.error_code else "")
        for phase in version.phases
    ]
    lines += [] if version.place is None else [f"  {'rank':12} {version.place}"]
    if waiting is not None and waiting.wait is not None:
        lines.append(f"  {waiting.wait.sentence}")
    lines += [f"  {line}" for line in version.error.splitlines()]
    lines += [f"  Note: {warning}" for warning in version.warnings]
    return "\n".join(lines)
