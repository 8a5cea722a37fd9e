"""Jobs as lots: a driver, this arena's rows, and a stand-in for a cluster that plays each Job with local processes."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from arena_kit.cluster.lots.driver import Driver
from arena_kit.cluster.lots.manifest import channel_of
from arena_kit.cluster.manifest import Tenant
from arena_kit.environment.registry import get_spec
from arena_kit.sandbox.base import SandboxError
from arena_kit.sandbox.startup import PLAYER_SERVER, copy_server
from arena_kit.tests.arenas import FIRST_VALID
from arena_kit.tests.cluster.doubles import ClusterDouble
from core.checks.players import check_cluster
from core.jobs import registry
from core.jobs.claims import is_work_waiting
from core.jobs.control import job_cancel
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_enqueue
from core.jobs.stopping import ask_to_stop
from core.jobs.tenants import lots_tenant, worlds_tenant
from core.jobs.worker_selectors import places_alive
from core.jobs.workers import worker_appear
from core.models import (
    Analysis,
    CancelCode,
    Duel,
    Evaluation,
    Job,
    JobState,
    LedgerEntry,
    Recording,
    Submission,
    SubmissionForm,
    Tournament,
    Validation,
)  # fmt: skip
from core.tests import factories
from duel_runner.lots import process
from duel_runner.lots.blocks import block_of
from duel_runner.lots.process import Driving
from duel_runner.lots.rows import LotRows
from duel_runner.management.commands import kubernetes_check
from duel_runner.queues import serve
from duel_runner.tasks import evaluate
from duel_runner.tests.on_a_cluster import play_on_a_cluster

pytestmark = pytest.mark.django_db(transaction=True)
TENANT = Tenant(id="demo", namespace="arena-players", referee_image="registry/arena@sha256:" + "a" * 64)
FOLDERS: dict[str, Path] = {}
"""By the name of an image in the registry: the folder with the player's code."""
LAST_VALID = FIRST_VALID.replace("[0]", "[-1]")
MID = FIRST_VALID.replace("valid_actions[0]", "valid_actions[len(valid_actions) // 2]")
NO_FORKS = "import os\nassert os.environ.get('FRESH'), 'no forks'\n" + FIRST_VALID


@dataclass
class Lot:
    """The processes of a Job."""

    folder: Path
    referee: subprocess.Popen[bytes]
    players: list[subprocess.Popen[bytes]]


@dataclass
class LocalCluster(ClusterDouble):
    """Starts the containers of a Job as processes of this machine, without the walls of a container."""

    lots: dict[str, Lot] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def create(self, manifest: Mapping[str, Any]) -> None:
        super().create(manifest)
        name = manifest["metadata"]["name"]
        if name not in self.lots:
            self.lots[name] = self._started(manifest["spec"]["template"]["spec"])

    def remove(self, name: str) -> None:
        super().remove(name)
        self.end_processes(name)

    def pods(self) -> list[dict[str, Any]]:
        for name, lot in self.lots.items():
            status = lot.referee.poll()
            if status is None:
                self.run(name)
            else:
                ended = {"exitCode": status, "message": _text(lot.folder / "seal")}
                referee = {"name": "referee", "state": {"terminated": ended}}
                self.set_pod(name, {"containerStatuses": [referee], "phase": "Failed"})
                self.logs[f"{name}-pod"] = _text(lot.folder / "log").splitlines()
        return super().pods()

    def end_processes(self, name: str) -> None:
        lot = self.lots.pop(name)
        for started in (lot.referee, *lot.players):
            started.kill()
            started.wait()
        shutil.rmtree(lot.folder)

    def _started(self, pod: Mapping[str, Any]) -> Lot:
        folder = Path(tempfile.mkdtemp(prefix="arena-"))
        referee, *players = pod["containers"]
        text = next(one["value"] for one in referee["env"] if one["name"] == "LOT")
        for number, _ in enumerate(players):
            channel = folder / f"channel-{number + 1}"
            channel.mkdir()
            copy_server(PLAYER_SERVER, channel)
            text = text.replace(json.dumps(channel_of(number)), json.dumps(str(channel)))
        environment = {**os.environ, "LOT": text, "SEAL": str(folder / "seal")}
        with (folder / "log").open("wb") as log:
            command = [sys.executable, "-m", "arena_kit.referee.lot"]
            # As in the log of a container.
            playing = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        started = [self._player(folder, number, container) for number, container in enumerate(players)]
        return Lot(folder, playing, started)

    def _player(self, folder: Path, number: int, container: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        channel, home = folder / f"channel-{number + 1}", folder / f"home-{number + 1}"
        home.mkdir()
        places = {
            "/channel": str(channel), "/player": str(FOLDERS[container["image"]]), "/tmp": str(home),
            "/opt/requirements": "",
        }  # fmt: skip
        arguments = [places.get(argument, argument) for argument in container["args"]]
        # The limit counts a container's memory, and this process has none of its own.
        arguments[arguments.index("--memory-limit") + 1] = "0"
        environment = {"PYTHONHASHSEED": "0", **({"FRESH": "1"} if "--fresh" in arguments else {})}
        server = [sys.executable, "-s", "-P", str(channel / "player_server" / "start.py")]
        return subprocess.Popen([*server, *arguments], env=environment, cwd=home)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    made = LocalCluster()
    yield made
    for name in list(made.lots):
        made.end_processes(name)


@pytest.fixture(autouse=True)
def arena(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An arena that plays on a cluster."""
    play_on_a_cluster(settings, monkeypatch)
    settings.PLAYER_REGISTRY = "registry.test/players"


@pytest.fixture
def driver(cluster: LocalCluster) -> Driver:
    return Driver(LotRows("lots"), cluster, TENANT, 4, time.monotonic)


@pytest.fixture
def player(tmp_path: Path) -> Callable[..., Submission]:
    def make(name: str, source: str, environment: Any = None) -> Submission:
        environment = environment or factories.environment()
        row = factories.ready(factories.agent(factories.user(name), environment))
        folder = tmp_path / name
        folder.mkdir()
        (folder / "player.py").write_text(source)
        digest = "sha256:" + sha256(bytes(folder)).hexdigest()
        FOLDERS[f"registry.test/players@{digest}"] = folder
        Submission.objects.filter(pk=row.pk).update(image=f"players:{name}", registry_digest=digest)
        row.refresh_from_db()
        return row

    return make


def until(driver: Driver, over: Callable[[], bool]) -> None:
    """Let the driver tick until something is so."""
    deadline = time.monotonic() + 120
    while not over():
        assert time.monotonic() < deadline
        driver.tick()
        time.sleep(0.05)


def is_over(job: Job) -> bool:
    job.refresh_from_db()
    return job.is_over


def rated_duel(player: Callable[..., Submission], first: str = FIRST_VALID, second: str = LAST_VALID) -> Duel:
    ann, bob = player("ann", first), player("bob", second)
    edition = Tournament.objects.create(environment=ann.agent.environment, edition=1)
    row = factories.duel(edition, ann, bob, number=1, state=JobState.QUEUED)
    job_enqueue(job=row)
    return row


@pytest.mark.slow
def test_a_duel_is_played_as_a_lot_and_goes_to_the_ledger(
    driver: Driver, cluster: LocalCluster, player: Callable[..., Submission]
) -> None:
    duel = rated_duel(player)
    until(driver, lambda: is_over(duel))
    assert (duel.state, duel.error) == (JobState.SUCCEEDED, "")
    assert duel.record_sha256
    with duel.player_1_log.open() as log:
        said = [line for line in log.read().splitlines() if not line.startswith(b"[match ")]
    assert set(said) == {b"made"}
    assert LedgerEntry.objects.filter(duel=duel).count() == 4
    assert not cluster.made
    assert not driver.claimed


def test_a_lot_for_which_there_is_no_room_costs_no_attempt(player: Callable[..., Submission], settings: Any) -> None:
    duel = rated_duel(player)
    settings.JOB_MAX_ATTEMPTS = 1
    rows = LotRows("lots")
    (lot,) = rows.claim(1)
    rows.fail(lot.claim, "no_capacity", "The cluster has no room.")
    duel.refresh_from_db()
    assert (duel.state, duel.attempt, duel.error_code) == (JobState.QUEUED, 0, "no_capacity")
    assert duel.not_before is not None


@pytest.mark.slow
def test_duels_of_a_tournament_are_played_in_blocks(cluster: LocalCluster, player: Callable[..., Submission]) -> None:
    ann, bob, cem = (player(name, source) for name, source in (("ann", FIRST_VALID), ("bob", LAST_VALID), ("cem", MID)))
    edition = Tournament.objects.create(environment=ann.agent.environment, edition=1)
    pairs = ((ann, bob), (ann, cem), (bob, cem))
    duels = [
        factories.duel(edition, *pair, number=number, state=JobState.QUEUED) for number, pair in enumerate(pairs, 1)
    ]
    for duel in duels:
        job_enqueue(job=duel)
    rows = LotRows("lots", lot_size=3)
    driver = Driver(rows, cluster, TENANT, 1, time.monotonic)
    driver.tick()
    (name,) = cluster.made
    lot = cluster.lots[name]
    assert rows.live_claims() >= {driver.claimed[claim].job.claim for claim in driver.claimed}
    lot.referee.wait(timeout=120)
    log = _text(lot.folder / "log").splitlines()
    # The log as it is when the pod is lost in the second duel.
    end = next(number for number, line in enumerate(log) if line.startswith("part "))
    rows.finish_parts(next(iter(driver.claimed)), log[: end + 2])
    assert [Duel.objects.get(pk=duel.pk).state for duel in duels] == ["SUCCEEDED", "RUNNING", "RUNNING"]
    # Its claim is over, and those of the others keep the Job.
    other = Driver(LotRows("lots"), cluster, TENANT, 0, time.monotonic)
    other.tick()
    assert cluster.made
    driver.tick()
    assert not cluster.made
    assert cluster.created == 1
    for duel in duels:
        assert is_over(duel)
        assert (duel.state, duel.error) == (JobState.SUCCEEDED, "")
        assert LedgerEntry.objects.filter(duel=duel).count() == 4
    assert "in the pod of arena-duel-" in duels[2].log


def test_a_block_has_the_submissions_with_most_duels_among_themselves() -> None:
    every = {n: frozenset(pair) for n, pair in enumerate(itertools.combinations(range(20), 2))}
    first = every.pop(0)
    assert len(block_of(first, every, 6)) == 14
    assert block_of(first, every, 2) == []
    few = {1: frozenset((1, 7)), 2: frozenset((1, 3)), 3: frozenset((0, 3)), 4: frozenset((8, 9))}
    assert block_of(frozenset((0, 1)), few, 3) == [2, 3]
    assert block_of(frozenset((0, 1)), few, 9) == [1, 2, 3]


def test_players_with_graphics_cards_are_in_no_block_and_loaded_for_one_duel(
    player: Callable[..., Submission],
) -> None:
    submission = player("ann", FIRST_VALID)
    environment = submission.agent.environment
    environment.gpu_count = 1
    environment.save()
    edition = Tournament.objects.create(environment=environment, edition=1)
    for number, name in enumerate(("bob", "cid"), 1):
        job_enqueue(
            job=factories.duel(edition, submission, player(name, LAST_VALID), state=JobState.QUEUED, number=number)
        )
    (lot,) = LotRows("lots", lot_size=6).claim(1)
    assert (len(lot.players), lot.others) == (2, ())
    assert all(one.fresh and one.limits.gpu_count == 1 for one in lot.players)


@pytest.mark.slow
def test_a_validation_that_forks_fail_is_played_again_in_a_second_lot(
    driver: Driver, cluster: LocalCluster, player: Callable[..., Submission]
) -> None:
    submission = player("ann", NO_FORKS)
    validation = factories.validation(submission, state=JobState.QUEUED)
    job_enqueue(job=validation)
    until(driver, lambda: is_over(validation))
    assert (validation.state, validation.error) == (JobState.SUCCEEDED, "")
    submission.refresh_from_db()
    assert submission.needs_fresh_container
    assert cluster.created == 2
    assert "Trying again in a fresh container" in validation.log


@pytest.mark.slow
def test_an_evaluation_is_played_as_a_lot(driver: Driver, player: Callable[..., Submission]) -> None:
    task = factories.task("frozen-lake", episodes=3)
    evaluation = factories.evaluation(player("ann", FIRST_VALID, task), JobState.QUEUED)
    job_enqueue(job=evaluation)
    until(driver, lambda: is_over(evaluation))
    assert (evaluation.state, evaluation.error) == (JobState.SUCCEEDED, "")
    assert isinstance(evaluation, Evaluation)
    assert evaluation.episodes_done == 3


def test_a_killed_referee_is_the_platforms_fault_and_the_duel_waits_again(
    driver: Driver, cluster: LocalCluster, player: Callable[..., Submission], settings: Any
) -> None:
    settings.JOB_DELAY_SECONDS = 600
    slow = FIRST_VALID.replace("        return", "        import time; time.sleep(0.1)\n        return")
    duel = rated_duel(player, slow)
    driver.tick()
    (lot,) = cluster.lots.values()
    lot.referee.kill()
    lot.referee.wait()
    driver.tick()
    duel.refresh_from_db()
    assert (duel.state, duel.error_code) == (JobState.QUEUED, "referee_failed")
    assert not cluster.made


def test_a_cancelled_duel_ends_its_lot(
    driver: Driver, cluster: LocalCluster, player: Callable[..., Submission], settings: Any
) -> None:
    settings.JOB_LEASE_SECONDS = 0.1
    slow = FIRST_VALID.replace("        return", "        import time; time.sleep(1)\n        return")
    duel = rated_duel(player, slow)
    driver.tick()
    duel.refresh_from_db()
    job_cancel(job=duel, code=CancelCode.BY_OWNER, reason="Its owner has cancelled it.")
    time.sleep(0.1)
    driver.tick()
    assert not cluster.made
    assert not driver.claimed


def test_a_stopped_driver_gives_its_duel_back_without_an_attempt(
    driver: Driver, cluster: LocalCluster, player: Callable[..., Submission]
) -> None:
    duel = rated_duel(player)
    driver.tick()
    driver.stop()
    duel.refresh_from_db()
    assert (duel.state, duel.error_code, duel.attempt) == (JobState.QUEUED, "worker_stopped", 0)
    assert not cluster.made


def test_an_environment_whose_players_must_be_apart_is_refused(
    driver: Driver, cluster: LocalCluster, player: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    duel = rated_duel(player)
    apart = replace(get_spec(duel.environment_version), isolation="apart")
    monkeypatch.setattr("duel_runner.lots.parts.rules", lambda _: apart)
    driver.tick()
    duel.refresh_from_db()
    assert (duel.state, duel.error_code) == (JobState.FAILED, "sandbox_refused")
    assert "SANDBOX=docker" in duel.error
    assert not cluster.made


def test_a_version_without_an_image_is_the_platforms_fault(
    driver: Driver, cluster: LocalCluster, player: Callable[..., Submission]
) -> None:
    duel = rated_duel(player)
    Submission.objects.update(registry_digest="")
    driver.tick()
    duel.refresh_from_db()
    assert (duel.state, duel.error_code) == (JobState.QUEUED, "image_missing")
    assert not cluster.made


def test_every_kind_that_its_queue_serves_has_steps() -> None:
    assert {line.kind for line in registry.SERVICES["lots"].lines} == set(LotRows.KINDS)
    assert [registry.queue_of(kind) for kind in (Validation, Duel, Evaluation)] == ["lots"] * 3
    assert registry.kinds_of("duel") == [Recording, Analysis]


def test_a_driver_finds_a_duel_in_its_row(player: Callable[..., Submission]) -> None:
    rated_duel(player)
    assert is_work_waiting("lots")


def test_nothing_is_claimed_before_the_cluster_may_be_used(
    driver: Driver, cluster: LocalCluster, player: Callable[..., Submission]
) -> None:
    duel = rated_duel(player)

    def refuse() -> str:
        raise SandboxError("This account may not create jobs.", code="rights_missing")

    driving = Driving(driver, refuse)
    driving.step()
    assert driving.engine() == {"engine": "Kubernetes", "engine_error": "This account may not create jobs."}
    assert not cluster.made
    driving.version = lambda: "v1.34.1"
    driving.step()
    assert driving.engine() == {"engine": "Kubernetes v1.34.1", "engine_error": ""}
    assert len(cluster.made) == 1
    cluster.is_away = True
    driving.step()
    assert driving.engine()["engine_error"] == "The API does not answer."
    duel.refresh_from_db()
    assert duel.state == JobState.RUNNING


def test_a_driver_whose_tick_hangs_says_so_in_its_row(cluster: LocalCluster) -> None:
    now = [0.0]
    driver = Driver(LotRows("lots"), cluster, TENANT, 4, lambda: now[0])
    driving = Driving(driver, lambda: "v1.34.1")
    assert driving.engine()["engine_error"] == ""
    driving.step()
    now[0] += process.SILENT_SECONDS - 1
    assert driving.engine()["engine_error"] == ""
    now[0] += 6
    assert driving.engine()["engine_error"] == "The cluster was last listed 65 s ago."


@pytest.mark.slow
def test_a_driver_that_is_asked_to_stop_lets_a_lot_end_that_is_nearly_done(
    driver: Driver, cluster: LocalCluster, player: Callable[..., Submission], settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    settings.STOP_GRACE_SECONDS = 240
    monkeypatch.setattr(process, "TICK_SECONDS", 0.05)
    monkeypatch.setattr(process, "LOOK_SECONDS", 0.05)
    duel = rated_duel(player)
    driving = Driving(driver, lambda: "v1.34.1")
    driving.step()
    ask_to_stop()
    assert duel.tournament is not None
    other = factories.duel(duel.tournament, duel.player_1, duel.player_2, number=2, state=JobState.QUEUED)
    job_enqueue(job=other)
    driving.run()
    assert is_over(duel)
    assert not is_over(other)
    assert (duel.state, other.state) == (JobState.SUCCEEDED, JobState.QUEUED)
    assert not cluster.made


def test_a_change_on_the_cluster_wakes_a_driver_and_a_watch_that_fails_does_not_end_it(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TICK_SECONDS", 3600.0)
    monkeypatch.setattr(process, "LOOK_SECONDS", 0.01)
    ticks: list[int] = []

    def tick() -> None:
        ticks.append(len(ticks))
        if len(ticks) == 2:
            ask_to_stop()

    def changes() -> Iterator[None]:
        yield
        raise SandboxError("The watch has ended.", code="cluster_unavailable")

    monkeypatch.setattr(driver, "tick", tick)
    Driving(driver, lambda: "v1.34.1", changes).run()
    assert ticks == [0, 1]


@pytest.mark.slow
def test_the_rows_of_a_database_that_is_away_are_left_as_they_are(
    driver: Driver, cluster: LocalCluster, player: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    duel = rated_duel(player)
    driving = Driving(driver, lambda: "v1.34.1")
    driving.step()
    with monkeypatch.context() as away:

        def fail(*_: object) -> frozenset[str]:
            raise OperationalError("The connection was lost.")

        away.setattr(driver.rows, "live_claims", fail)
        driving.step()
    assert len(cluster.made) == 1
    until(driver, lambda: is_over(duel))
    assert duel.state == JobState.SUCCEEDED


def test_the_places_of_an_arena_are_those_of_its_drivers(settings: Any) -> None:
    settings.KUBERNETES_OPTIONS = {**settings.KUBERNETES_OPTIONS, "lots": 7}
    serve("kubernetes")
    assert places_alive(Duel) == 0
    worker_appear(name="host:1", host="host", pid=1, queue="lots", version="1", python="3")
    assert (places_alive(Duel), places_alive(Recording)) == (7, 0)


def test_a_script_is_refused_with_a_sentence(player: Callable[..., Submission]) -> None:
    evaluation = factories.evaluation(player("ann", FIRST_VALID, factories.task("frozen-lake")), JobState.RUNNING)
    Submission.objects.update(form=SubmissionForm.SCRIPT)
    evaluation = Evaluation.objects.get(pk=evaluation.pk)
    evaluate(evaluation, Lease(evaluation))
    assert (evaluation.state, evaluation.error_code) == (JobState.FAILED, "sandbox_refused")
    assert "Submit a player instead." in evaluation.error


def test_the_settings_say_how_lots_run(settings: Any) -> None:
    settings.PLAYER_IMAGE_PREFIX = "our/arena-player_"
    settings.KUBERNETES_NODES = ["pool=spot"]
    settings.KUBERNETES_OPTIONS = {**settings.KUBERNETES_OPTIONS, "runtime_class": "gvisor", "host_users": False}
    made = lots_tenant()
    assert (made.id, made.runtime_class, made.node_selector) == ("our-arena-player", "gvisor", {"pool": "spot"})
    assert not made.host_users
    assert list(made.tolerations) == [{"key": "pool", "operator": "Equal", "value": "spot"}]


def test_the_jobs_of_the_check_are_none_of_the_drivers(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drivers delete the Jobs of their tenant that have no claim."""
    tenants: list[Tenant] = []

    def api(tenant: Tenant) -> None:
        tenants.append(tenant)
        raise SandboxError("It is not there.", code="cluster_unavailable")

    monkeypatch.setattr(kubernetes_check, "ApiCluster", api)
    settings.PLAYER_IMAGE_PREFIX = "a" * 80
    with pytest.raises(SandboxError):
        kubernetes_check.check_cluster()
    assert tenants[0].id != lots_tenant().id
    assert len(tenants[0].id) == len(lots_tenant().id) == 63


def test_settings_that_cannot_play_are_refused(settings: Any) -> None:
    settings.KUBERNETES_IMAGE = "registry.test/arena@sha256:" + "a" * 64
    assert check_cluster() == []
    settings.KUBERNETES_IMAGE = "registry.test/arena:latest"
    settings.PLAYER_REGISTRY = ""
    settings.KUBERNETES_OPTIONS = {**settings.KUBERNETES_OPTIONS, "lots": 0, "lot_size": 0}
    settings.KUBERNETES_NODES = ["spot"]
    settings.OPEN_ENVIRONMENTS = "all"
    assert [message.id for message in check_cluster()] == ["arena.E015"] * 6
    settings.SANDBOX = "docker"
    assert check_cluster() == []


def test_settings_with_which_no_rollout_can_be_played_are_refused(settings: Any) -> None:
    settings.KUBERNETES_IMAGE = "registry.test/arena@sha256:" + "a" * 64
    settings.ROLLOUTS = "staff"
    assert [message.msg for message in check_cluster()] == [
        "ROLLOUT_OPTIONS: browser_image is not named by its digest."
    ]
    settings.BROWSER_IMAGE = "registry.test/browser@sha256:" + "b" * 64
    assert check_cluster() == []
    settings.KUBERNETES_OPTIONS = {**settings.KUBERNETES_OPTIONS, "worlds": "arena-players"}
    assert [message.msg for message in check_cluster()] == ["KUBERNETES_OPTIONS: worlds and lots share a namespace."]


def test_drivers_leave_the_worlds_of_rollouts_alone(settings: Any) -> None:
    settings.PLAYER_IMAGE_PREFIX = "a" * 80
    assert worlds_tenant().id != lots_tenant().id
    assert len(worlds_tenant().id) == 63
    assert worlds_tenant().namespace == "arena-worlds" != lots_tenant().namespace
