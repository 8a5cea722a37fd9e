"""Try the cluster of SANDBOX=kubernetes: the driver's rights, and the walls from inside a lot."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from arena_kit.cluster.client import ApiCluster
from arena_kit.cluster.lots.check import lot_findings, network_findings, rights_findings
from arena_kit.cluster.lots.manifest import channel_of
from arena_kit.cluster.rights import WORLD_RIGHTS, Right
from arena_kit.cluster.status import Ended
from arena_kit.environment.record_archive import ArtifactDamaged
from arena_kit.errors import PlatformFault
from arena_kit.referee.lot import DuelPart, Lot, LotPlayer
from arena_kit.referee.part import Failed, read_lot
from arena_kit.referee.play import PlayedDuel
from arena_kit.sandbox.probes import PROBE_LIMITS
from arena_kit.sandbox.probes.walls import ProbeFinding
from core.jobs.tenants import lots_tenant, worlds_tenant
from duel_runner.management.commands.sandbox_check import HAPPENED, PROTECTION, TRIED, line_of

ENVIRONMENT = "tic-tac-toe-v1"


class Command(BaseCommand):
    help = "Test the cluster's rights and walls, from inside a lot. Exit code 1: at least one does not hold."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
        parser.add_argument(
            "--worlds", action="store_true", help="test what a worker of rollouts needs, and the network of its worlds"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.SANDBOX != "kubernetes":
            raise CommandError("SANDBOX is not kubernetes. manage.py sandbox_check tries the other sandboxes.")
        try:
            version, findings = check_worlds() if options["worlds"] else check_cluster()
        except PlatformFault as error:
            raise CommandError(f"The cluster cannot be checked: {error} ({error.code})") from None
        if options["json"]:
            self.stdout.write(json.dumps({"version": version, "findings": [asdict(one) for one in findings]}, indent=1))
        else:
            namespace = settings.KUBERNETES_OPTIONS["worlds" if options["worlds"] else "namespace"]
            self.stdout.write(f"Kubernetes {version}, namespace {namespace}")
            self.stdout.write(f"{'protection':<{PROTECTION}} {'tried':<{TRIED}} {'what happened':<{HAPPENED}} held")
            for finding in findings:
                self.stdout.write(line_of(finding))
        if failed := [finding for finding in findings if not finding.held]:
            names = ", ".join(dict.fromkeys(finding.protection for finding in failed))
            raise CommandError(
                f"{len(failed)} of {len(findings)} protections do not hold: {names}. See docs/operator/kubernetes.md."
            )


def check_cluster() -> tuple[str, list[ProbeFinding]]:
    """Return the cluster's version and what was tried on it. Raises PlatformFault."""
    # A driver deletes the Jobs of its tenant that have no claim.
    where = lots_tenant().apart()
    cluster = ApiCluster(where)
    findings = [*rights_findings(cluster), *network_findings(cluster, where)]
    return cluster.version(), [*findings, *lot_findings(cluster, where, _lot, play=_output)]


def check_worlds() -> tuple[str, list[ProbeFinding]]:
    """Return the same for the worlds of rollouts: the rights of their account, and their network.

    Raises PlatformFault.
    """
    where, lots = worlds_tenant().apart(), settings.KUBERNETES_OPTIONS["namespace"]
    cluster = ApiCluster(where)
    # Who could run commands among lots could forge their results.
    foreign = [Right(verb, "pods", subresource="exec", namespace=lots) for verb in ("get", "create")]
    rights = rights_findings(cluster, WORLD_RIGHTS, [*foreign, Right("create", "jobs", "batch", namespace=lots)])
    return cluster.version(), [*rights, *network_findings(cluster, where)]


def _lot(claim: str) -> str:
    players = tuple(LotPlayer(f"player-{n + 1}", channel_of(n), PROBE_LIMITS) for n in range(2))
    part = DuelPart("check", ENVIRONMENT, (0, 1), ("probe", "probe"), 0, 2, 1, PROBE_LIMITS)
    return Lot(claim, players, duels=(part,)).to_json()


def _output(lines: list[str], ended: Ended, claim: str) -> str:
    try:
        result = read_lot(lines, ended.seal, claim, ended.killed)["check"].result
    except (ArtifactDamaged, KeyError):
        raise PlatformFault("The lot's result cannot be read.", code="result_not_sealed") from None
    if isinstance(result, Failed):
        raise PlatformFault(result.sentence, code=result.code)
    assert isinstance(result, PlayedDuel)
    return result.player_logs[0]
