"""What the check of a cluster makes of the answers that it gets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arena_kit.cluster.client import ApiCluster
from arena_kit.cluster.lots.check import BEYOND, NOT_IN_PODS, network_findings, rights_findings, wall_findings
from arena_kit.cluster.manifest import Tenant
from arena_kit.cluster.rights import LOT_RIGHTS, Right
from arena_kit.sandbox.base import SandboxError
from arena_kit.sandbox.probes.walls import WALLS
from arena_kit.tests.cluster.doubles import ClusterDouble

TENANT = Tenant(id="demo", namespace="arena-players", referee_image="registry/arena@sha256:" + "a" * 64)


class EndingCluster(ClusterDouble):
    """Runs every Job at once: it ends with these lines in its log, or is disrupted."""

    def __init__(self, lines: list[str], *, is_disrupted: bool = False) -> None:
        super().__init__()
        self._lines, self._is_disrupted = lines, is_disrupted
        self.manifests: list[Any] = []

    def create(self, manifest: Any) -> None:
        super().create(manifest)
        self.manifests.append(manifest)
        name = manifest["metadata"]["name"]
        if self._is_disrupted:
            self.disrupt(name)
        else:
            self.end(name, self._lines)


class Rights:
    """An account with these rights."""

    def __init__(self, *given: Right) -> None:
        self._given = given

    def may(self, right: Right) -> bool:
        return right in self._given

    check = ApiCluster.check
    _namespace = "arena-players"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_kit.cluster.lots.check.time.sleep", lambda _: None)


def test_an_account_has_what_it_needs_and_nothing_beyond() -> None:
    assert all(finding.held for finding in rights_findings(Rights(*LOT_RIGHTS)))  # type: ignore[arg-type]
    mighty = rights_findings(Rights(*LOT_RIGHTS, *BEYOND))  # type: ignore[arg-type]
    assert [finding.protection for finding in mighty if not finding.held] == ["no other rights"] * len(BEYOND)
    weak = rights_findings(Rights())  # type: ignore[arg-type]
    assert [finding.protection for finding in weak if not finding.held] == ["rights"] * len(LOT_RIGHTS)


def test_a_driver_without_a_right_says_which() -> None:
    with pytest.raises(SandboxError, match=r"may not get pods/log in the namespace arena-players") as refused:
        Rights(*(right for right in LOT_RIGHTS if not right.subresource)).check()  # type: ignore[misc]
    assert refused.value.code == "rights_missing"


def test_what_the_network_lets_out_is_told() -> None:
    printed = json.dumps({"the API server": "reached", "a token of the API": "refused: none"})
    cluster = EndingCluster([printed])
    found = network_findings(cluster, TENANT)  # type: ignore[arg-type]
    assert [(finding.tried, finding.held) for finding in found] == [
        ("the API server", False),
        ("a token of the API", True),
    ]
    assert not cluster.made
    (container,) = cluster.manifests[0]["spec"]["template"]["spec"]["containers"]
    assert container["command"][:2] == ["python3", "-c"]


@pytest.mark.parametrize("cluster", [EndingCluster([]), EndingCluster([], is_disrupted=True)])
def test_silence_and_a_lost_pod_are_no_answers(cluster: EndingCluster) -> None:
    with pytest.raises(SandboxError):
        network_findings(cluster, TENANT)  # type: ignore[arg-type]
    assert not cluster.made


def test_walls_that_a_pod_does_not_have_are_left_out_and_silence_is_no_wall() -> None:
    found = list(wall_findings("no results"))
    assert not any(finding.held for finding in found)
    assert {wall.probe for wall in WALLS} >= NOT_IN_PODS
    held = {finding.tried: finding.held for finding in wall_findings(json.dumps({"groups": {"done": [65000, 100007]}}))}
    assert held["its further groups"] is True
    held = {finding.tried: finding.held for finding in wall_findings(json.dumps({"groups": {"done": [0]}}))}
    assert held["its further groups"] is False
