"""Test the protections of a sandbox from inside."""

from __future__ import annotations

import json
import textwrap
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from docker.errors import DockerException
from requests import RequestException

from arena_kit.image.engine import NoEngine, connect, missing_limits
from arena_kit.sandbox.base import SandboxError
from arena_kit.sandbox.choice import local_processes
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.sandbox.probes import ProbeFinding, check_sandbox

GVISOR = "runsc"
PROTECTION, TRIED, HAPPENED = 20, 42, 60
"""Widths of the table's columns, in characters."""


class Command(BaseCommand):
    help = "Test every protection of a sandbox from inside and print a table. Exit code 1: at least one does not hold."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sandbox", choices=("docker", "process"), default=settings.SANDBOX)
        parser.add_argument(
            "--runtime", default=settings.PLAYER_CONTAINERS["runtime"], help="of the engine; runsc is gVisor"
        )
        parser.add_argument(
            "--quick", action="store_true", help="test with one player and print only protections that do not hold"
        )
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            findings = self._findings(**options)
        except (SandboxError, NoEngine, DockerException, RequestException) as error:
            raise CommandError(f"The sandbox {options['sandbox']} cannot be checked: {error}") from None
        failed = [finding for finding in findings if not finding.held]
        if options["json"]:
            self.stdout.write(json.dumps([asdict(finding) for finding in findings], indent=1))
        else:
            if not options["quick"]:
                self.stdout.write(f"{'protection':<{PROTECTION}} {'tried':<{TRIED}} {'what happened':<{HAPPENED}} held")
            for finding in failed if options["quick"] else findings:
                self.stdout.write(line_of(finding))
        if failed:
            names = ", ".join(dict.fromkeys(finding.protection for finding in failed))
            raise CommandError(
                f"{len(failed)} of {len(findings)} protections of the sandbox {options['sandbox']} do not hold: "
                f"{names}. See docs/reference/security-players.md."
            )
        if not options["json"]:
            self.stdout.write(f"Sandbox {options['sandbox']}: all {len(findings)} protections hold.")

    def _findings(self, *, sandbox: str, runtime: str, quick: bool, **_: Any) -> list[ProbeFinding]:
        arena = local_processes(settings.CHANNEL_DIR)
        findings: list[ProbeFinding] = []
        own_kernel = False
        if sandbox == "docker":
            arena = DockerSandbox(
                base_image=settings.PLAYER_BASE_IMAGE, runtime=runtime, channel_dir=settings.CHANNEL_DIR
            )
            findings.append(engine_finding())
            own_kernel = runtime == GVISOR
        arena.check()
        return findings + check_sandbox(arena, settings.CHANNEL_DIR, thorough=not quick, own_kernel=own_kernel)


def engine_finding() -> ProbeFinding:
    """Return a finding on the limits that the engine reports."""
    client = connect()
    try:
        missing = missing_limits(client.info())
    finally:
        client.close()
    happened = f"missing: {', '.join(missing)}" if missing else "all limits exist"
    return ProbeFinding("engine", "ask it for its limits", happened, not missing)


def line_of(finding: ProbeFinding) -> str:
    """Return a row of the table."""
    cells = (
        f"{finding.protection:<{PROTECTION}}",
        f"{finding.tried:<{TRIED}}",
        f"{textwrap.shorten(finding.happened, HAPPENED) or '-':<{HAPPENED}}",
        "yes" if finding.held else "NO",
    )
    return " ".join(cells)
