"""Rollouts in worlds that are pods of a real cluster, and what happens when parts of them are lost."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from django.conf import settings as django_settings

from arena_kit.cluster.manifest import PodPlayerSpec, Tenant
from arena_kit.environment.records import Fault
from arena_kit.environment.spec import Limits
from arena_kit.image.layer import commit_layer, folder_layer
from arena_kit.image.registry import Registry
from arena_kit.referee.faults import PlayerFault
from arena_kit.rollout.agents.agent import Agent, ScriptedAgent
from arena_kit.rollout.agents.meter import Meter
from arena_kit.rollout.agents.player import PlayerAgent
from arena_kit.rollout.attempt import null_agent, task_attempt
from arena_kit.rollout.browser.browser import Browser
from arena_kit.rollout.browser.container import NAME, BrowserHost
from arena_kit.rollout.building.build import package_build, package_remove
from arena_kit.rollout.checks.exported import SqlCheck
from arena_kit.rollout.exports.state import ExportRefused
from arena_kit.rollout.judge import EndedBy, TaskOutcome
from arena_kit.rollout.loop import RolloutHost
from arena_kit.rollout.packages.package import Package
from arena_kit.rollout.play import PlayedRollout, rollout_run
from arena_kit.rollout.pods.host import CLAIM_LABEL, PodWorlds
from arena_kit.rollout.recording.record import steps_in
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.leases import NoRoom
from arena_kit.rollout.worlds.world import Extras, World, WorldFault
from arena_kit.sandbox.base import Container, Launch
from arena_kit.tests.image.registries import RegistryServer
from arena_kit.tests.rollout import browsers, notes
from tests.kubernetes.cluster import WORLDS, RealCluster

pytestmark = [
    pytest.mark.cluster, pytest.mark.docker, pytest.mark.registry, pytest.mark.nightly, pytest.mark.slow,
    pytest.mark.browser_image,
]  # fmt: skip
CLERK = """
import re

class Player:
    def __init__(self, train_mode):
        self.done = []

    def start(self, state, valid_actions):
        return self.step(state, valid_actions, 0.0)

    def step(self, state, valid_actions, prev_reward):
        print("I see", state["title"])
        def ref(what):
            return re.search(what + r".*?\\[ref=(\\w+)\\]", state["snapshot"]).group(1)
        self.done.append(None)
        if len(self.done) == 1:
            return {"action": "fill", "ref": ref('textbox "Note"'), "text": "Buy milk"}
        if len(self.done) == 2:
            return {"action": "click", "ref": ref('button "Add"')}
        return {"action": "answer", "value": 3}

    def end(self, state, prev_reward):
        print("It is over")
"""
HUNGRY = """
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions):
        self.all = b"x" * (3 << 30)
"""
WRITTEN = """
def written(path):
    try:
        pathlib.Path(path).write_text("x")
    except OSError:
        return "refused"
    return "written"
"""
"""What both probes try."""
PROBE = """
import json, os, pathlib, socket
def tried(host, port):
    try:
        socket.create_connection((host, port), 2).close()
    except OSError as error:
        return "refused"
    return "reached"
host = os.environ.get("KUBERNETES_SERVICE_HOST", "10.0.0.1")
try:
    named = socket.gethostbyname("kubernetes.default.svc.cluster.local")
except OSError:
    named = "refused"
print(json.dumps({
    "API server": tried(host, 443), "metadata": tried("169.254.169.254", 80), "outside": tried("192.0.2.1", 443),
    "named": named, "token": pathlib.Path("/var/run/secrets/kubernetes.io").exists(),
    "go": written("/arena/go/web"), "queues": written("/dev/mqueue/x"),
    "caps": [line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")],
    "calls": [line.split()[1] for line in open("/proc/self/status") if line.startswith("Seccomp:")],
    "processes": len([name for name in os.listdir("/proc") if name.isdigit()]) < 8, "user": os.getuid(),
}))
"""
HELD = {
    "API server": "refused", "metadata": "refused", "outside": "refused", "named": "refused", "token": False,
    "go": "refused", "queues": "refused", "caps": ["0" * 16], "calls": ["2"], "processes": True,
}  # fmt: skip
PROBER = """
import ctypes, json, os, pathlib, socket
def tried(make):
    try:
        make()
    except OSError:
        return "refused"
    return "made"
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions):
        status = dict(line.split(":", 1) for line in open("/proc/self/status"))
        print("PROBED " + json.dumps({
            "inet": tried(lambda: socket.create_connection(("127.0.0.1", 8000), 2)),
            "unix": tried(lambda: socket.socket(socket.AF_UNIX)),
            "token": pathlib.Path("/var/run/secrets/kubernetes.io").exists(),
            "go": written("/arena/go/web"), "channel": written("/channel/x"), "shared": written("/dev/shm/x"),
            "queues": written("/dev/mqueue/x"), "caps": status["CapEff"].strip(), "calls": status["Seccomp"].strip(),
            "others": len([name for name in os.listdir("/proc") if name.isdigit()]) < 8,
        }))
        return {"action": "answer", "value": 3}
    def step(self, state, valid_actions, prev_reward): pass
    def end(self, state, prev_reward): pass
"""
PROBED = {
    "inet": "refused", "unix": "refused", "token": False, "go": "refused", "channel": "refused", "shared": "refused",
    "queues": "refused", "caps": "0" * 16, "calls": "2", "others": True,
}  # fmt: skip
SLOW = """
import time
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions):
        time.sleep(120)
        return {"action": "answer", "value": 3}
    def step(self, state, valid_actions, prev_reward): pass
    def end(self, state, prev_reward): pass
"""
_claims = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Place:
    """A package that was built and pushed, and a cluster where its worlds are pods."""

    package: Package
    built: BuiltPackage
    worlds: PodWorlds
    host: RolloutHost
    folder: Path
    registry: Registry
    again: Callable[[], PodWorlds]

    def run(self, agent: Callable[[], Agent], task: Task) -> tuple[PlayedRollout, Path]:
        """A rollout and its folder."""
        folder = Path(tempfile.mkdtemp(prefix="rollout-", dir=self.folder))
        played = rollout_run(
            dataclasses.replace(self.host, labels=claimed()), self.built, task, lambda _: agent(), folder, name="test"
        )
        return played, folder

    def open(self, extras: Extras | None = None, **changes: Any) -> World:
        built = dataclasses.replace(self.built, **changes)
        return self.worlds.open(built, seconds=300, labels=claimed(), extras=extras or Extras())


def claimed() -> dict[str, str]:
    return {CLAIM_LABEL: f"{next(_claims):032x}"}


@pytest.fixture(scope="module")
def place(cluster: RealCluster, referee: str, server: RegistryServer, browser: str) -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    players = server.registry
    registry = Registry(f"{players.repository}-apps", players.user, players.password)
    file = notes.packed(**{
        "services/web/server.py": browsers.PAGES, "tasks.json": browsers.TASKS,
        "manifest": {"logins": browsers.LOGINS, "slug": "pods", "front": True},
    })  # fmt: skip
    package = notes.package(file)
    built = package_build(
        file, package, worlds=notes.worlds(folder / "worlds"), bases=notes.bases(), log=lambda _: None, seed=7,
        registry=registry,
    )  # fmt: skip
    tenant = Tenant("test-worlds", WORLDS, referee, pull_secret="registry")

    def worlds() -> PodWorlds:
        return PodWorlds(tenant, browser_image=browser, kubeconfig=str(cluster.worlds_kubeconfig))

    there = worlds()
    host = RolloutHost(there, BrowserHost("", folder / "unused"), video=False)
    try:
        yield Place(package, built, there, host, folder, registry, worlds)
    finally:
        package_remove(built, notes.bases())
        shutil.rmtree(folder)


def task(place: Place, **changes: Any) -> Task:
    return dataclasses.replace(place.package.tasks.tasks[0], **changes)


def changed(place: Place) -> Task:
    """The task without what only a browser can show."""
    whole = task(place)
    return dataclasses.replace(
        whole, checks=tuple(each for each in whole.checks if isinstance(each.condition, SqlCheck))
    )


ADD = 'import urllib.request as r; r.urlopen("http://web:8000/add", data=b"text=Buy+milk").read()'


def add_milk(world: World, of: Task) -> Any:
    assert world.run("web", ["python3", "-c", ADD], seconds=30).status == 0
    return null_agent(world, of)


def test_a_world_in_a_pod_is_worked_in_and_judged_as_one_of_docker(place: Place, cluster: RealCluster) -> None:
    solved = task_attempt(place.worlds, place.built, changed(place), add_milk, labels=claimed())
    assert (solved.verdict.outcome, solved.verdict.sentence) == (TaskOutcome.SOLVED, "")
    assert "web" in solved.logs
    idle = task_attempt(place.worlds, place.built, changed(place), null_agent, labels=claimed())
    assert (idle.verdict.outcome, idle.verdict.code) == (TaskOutcome.NOT_SOLVED, "check_failed")
    with place.built.state(idle.files) as state:
        # Built on Docker, exported by a pod.
        assert state.digest() == place.built.digest


def test_worlds_at_once_do_not_see_each_other(place: Place) -> None:
    found: dict[str, Any] = {}

    def attempt(name: str, agent: Any) -> None:
        found[name] = task_attempt(place.worlds, place.built, changed(place), agent, labels=claimed())

    agents = {"add": add_milk, "idle": null_agent}
    threads = [threading.Thread(target=attempt, args=pair) for pair in agents.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["add"].verdict.outcome is TaskOutcome.SOLVED, found["add"].verdict
    assert found["idle"].verdict.outcome is TaskOutcome.NOT_SOLVED, found["idle"].verdict


def test_a_browser_of_the_pod_is_led_by_the_worker(place: Place) -> None:
    wanted = task(place)
    played, folder = place.run(lambda: ScriptedAgent(wanted.oracle, wants_pictures=True), wanted)
    assert (played.verdict.outcome, played.verdict.sentence) == (TaskOutcome.SOLVED, "")
    assert [step["error"] for step in steps_in(folder)] == ["", "", ""]
    # The log of requests is the proxy's, and begins with the first action.
    asked = json.loads((folder / "network.har").read_text())["log"]["entries"]
    assert [each["request"]["method"] for each in asked][:2] == ["POST", "GET"]
    assert (folder / "trace.zip").stat().st_size > 0


def player_image(client: docker.DockerClient, place: Place, base: str, code: str, name: str) -> str:
    """An image with a player, in the registry."""
    folder = Path(tempfile.mkdtemp(dir=place.folder))
    (folder / "player.py").write_text(code)
    tag = f"{django_settings.PLAYER_IMAGE_PREFIX}-player:{name}"
    parent = str(client.images.get(base).id)
    labels = {"arena.prefix": f"{django_settings.PLAYER_IMAGE_PREFIX}-player"}
    commit_layer(client, parent, folder_layer(folder, "player"), tag=tag, labels=labels)
    try:
        return place.registry.reference(place.registry.push(client, tag))
    finally:
        client.images.remove(tag)


def player_agent(image: str, made: list[PlayerAgent], kind: type[PlayerAgent] = PlayerAgent) -> PlayerAgent:
    limits = Limits(start_seconds=60.0)

    def launch(world: World | None) -> Container:
        assert world is not None
        return world.launch(Launch("", "in-a-pod", limits=limits, labels={}))

    made.append(
        kind(
            launch,
            Meter(),
            environment="pods",
            wants_pictures=False,
            memory_bytes=limits.memory_limit_bytes,
            pod_player=PodPlayerSpec(image, limits, fresh=True),
        )
    )
    return made[-1]


def test_a_player_of_the_pod_works_by_the_browser(place: Place, client: docker.DockerClient, base: str) -> None:
    image, made = player_image(client, place, base, CLERK, "clerk"), list[PlayerAgent]()
    played, folder = place.run(lambda: player_agent(image, made), task(place))
    assert (played.verdict.outcome, played.verdict.sentence) == (TaskOutcome.SOLVED, ""), list(steps_in(folder))
    assert made[0].log.splitlines() == ["I see Notes"] * 3 + ["It is over"]


def test_a_player_without_memory_left_is_at_fault_and_the_world_is_judged(
    place: Place, client: docker.DockerClient, base: str
) -> None:
    image = player_image(client, place, base, HUNGRY, "hungry")
    played, _ = place.run(lambda: player_agent(image, []), task(place))
    assert played.attempt.work.ended_by is EndedBy.AGENT_FAULT
    assert (played.verdict.fault, played.attempt.work.fault_code) == (Fault.PLAYER, PlayerFault.OUT_OF_MEMORY)


def test_nothing_in_a_pod_finds_a_way_out(place: Place, client: docker.DockerClient, base: str) -> None:
    image = player_image(client, place, base, CLERK, "probe")
    extras = Extras(has_browser=True, player=PodPlayerSpec(image, Limits(), fresh=True))
    with place.open(extras) as world, Browser(place.host.browsers, world):
        users = set()
        for name in ("web", NAME):
            found = json.loads(world.run(name, ["python3", "-c", WRITTEN + PROBE], seconds=60).output)
            users.add(found.pop("user"))
            assert found == HELD, name
        wrote = world.run(NAME, ["touch", "/channel/x", "/x", "/etc/chromium/policies/managed/x"], seconds=10)
        assert wrote.status != 0
        assert world.run(NAME, ["ls", "/channel"], seconds=10).output.split() == ["browser_server", "policies"]
        assert len(users) == 2
        assert world.has_player


def test_a_player_reaches_nothing_of_its_pod(place: Place, client: docker.DockerClient, base: str) -> None:
    image, made = player_image(client, place, base, WRITTEN + PROBER, "prober"), list[PlayerAgent]()
    played, _ = place.run(lambda: player_agent(image, made), task(place))
    assert played.attempt.work.ended_by is EndedBy.DONE, played.verdict
    assert json.loads(made[0].log.partition("PROBED ")[2].splitlines()[0]) == PROBED


def test_a_player_that_the_cluster_cuts_off_is_not_at_fault(
    place: Place, client: docker.DockerClient, base: str, cluster: RealCluster
) -> None:
    """Kubelets that are started again end all connections to their pods, which run on."""
    image, made = player_image(client, place, base, SLOW, "slow"), list[PlayerAgent]()

    def restart() -> None:
        for number in (1, 2):
            cluster.node(number, "restart")

    class Cut(PlayerAgent):
        def choose(self, *given: Any, **more: Any) -> Any:
            cut = threading.Timer(15.0, restart)
            cut.start()
            try:
                return super().choose(*given, **more)
            finally:
                cut.join()

    played, _ = place.run(lambda: player_agent(image, made, Cut), task(place))
    assert played.verdict.fault is Fault.PLATFORM, (played.verdict, played.attempt.work)
    assert played.verdict.code == "player_lost"


def test_a_world_without_a_claim_is_left_to_its_deadline(place: Place, cluster: RealCluster) -> None:
    with place.worlds.open(place.built, seconds=300) as world:
        assert place.worlds.reap(frozenset) == 0
        (job,) = cluster.listed("jobs", WORLDS)
        assert job["spec"]["activeDeadlineSeconds"] == 300 + 900
        assert world.run("web", ["true"], seconds=30).status == 0


def test_a_worker_that_is_killed_leaves_nothing_that_is_not_reaped(place: Place, cluster: RealCluster) -> None:
    pid = os.fork()
    if not pid:
        # Processes cannot share a connection.
        with dataclasses.replace(place, worlds=place.again()).open() as world:
            world.run("web", ["true"], seconds=30)
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert len(cluster.listed("pods", WORLDS)) == 1
    (token,) = place.worlds.alive()
    # One of a living claim stays.
    (job,) = cluster.listed("jobs", WORLDS)
    claim = job["metadata"]["labels"]["arena/claim"]
    assert place.worlds.reap(lambda: frozenset([claim])) == 0
    assert place.worlds.alive() == {token}
    assert place.worlds.reap(frozenset) == 1


def test_a_pod_that_is_taken_away_is_the_platforms_fault(place: Place, cluster: RealCluster) -> None:
    def lose(world: World, of: Task) -> Any:
        cluster.kubectl("-n", WORLDS, "delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")
        return null_agent(world, of)

    lost = task_attempt(place.worlds, place.built, changed(place), lose, labels=claimed())
    assert (lost.verdict.fault, lost.verdict.code) == (Fault.PLATFORM, "world_lost")


def test_an_export_that_is_missing_or_no_file_spoils_the_rollout(place: Place) -> None:
    def link(world: World, of: Task) -> Any:
        world.run("web", ["ln", "-sf", "/etc/passwd", "/var/tmp/notes.sqlite"], seconds=10)
        return null_agent(world, of)

    linked = task_attempt(place.worlds, place.built, changed(place), link, labels=claimed())
    assert (linked.verdict.fault, linked.verdict.code) == (Fault.PLATFORM, "bad_export")
    gone = task_attempt(
        place.worlds, place.built, changed(place),
        lambda world, of: (world.run("web", ["rm", "/var/tmp/notes.sqlite"], seconds=10), null_agent(world, of))[1],
        labels=claimed(),
    )  # fmt: skip
    assert (gone.verdict.fault, gone.verdict.code) == (Fault.PLATFORM, "export_failed")


ENDLESS = """#!/usr/bin/env python3
import sys, tarfile
entry = tarfile.TarInfo("x")
entry.type, entry.size = tarfile.XHDTYPE, 8 << 30
sys.stdout.buffer.write(entry.tobuf(tarfile.GNU_FORMAT))
while True:
    sys.stdout.buffer.write(bytes(1 << 20))
"""
WRITE = "import os, sys; os.mkdir(sys.argv[1]); open(sys.argv[2], 'w').write(sys.argv[3]); os.chmod(sys.argv[2], 0o755)"


def test_a_service_whose_tar_never_ends_spoils_its_own_rollout_alone(place: Place) -> None:
    service = place.built.services[0].service
    path = {"PATH": "/var/tmp/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    own = dataclasses.replace(service, environment={**service.environment, **path})
    with place.open(services=(dataclasses.replace(place.built.services[0], service=own),)) as world:
        wrote = world.run("web", ["python3", "-c", WRITE, "/var/tmp/bin", "/var/tmp/bin/tar", ENDLESS], seconds=30)
        assert wrote.status == 0, wrote.output
        with pytest.raises(ExportRefused, match="a header that is too large"):
            world.export()


def test_what_the_cluster_has_no_room_for_waits(place: Place) -> None:
    service = dataclasses.replace(place.built.services[0].service, memory_bytes=1 << 40)
    large = dataclasses.replace(place.built.services[0], service=service)
    with pytest.raises(NoRoom) as full:
        place.open(services=(large,))
    assert full.value.code == "no_capacity"


def test_a_service_gets_what_compose_says_letter_by_letter(place: Place) -> None:
    """A cluster would fill in names of variables, and take one of two dollar signs for an escape."""
    told = {"PRICE": "5$", "WORTH": "$(PRICE) $$ $$(PRICE) ${PRICE}"}
    service = dataclasses.replace(place.built.services[0].service, environment=told)
    with place.open(services=(dataclasses.replace(place.built.services[0], service=service),)) as world:
        assert world.run("web", ["printenv", "WORTH"], seconds=30).output == told["WORTH"]


def test_a_service_that_does_not_become_healthy_is_named_with_its_log(place: Place) -> None:
    service = dataclasses.replace(
        place.built.services[0].service, command=("python3", "-c", "print('I give up', flush=True)")
    )
    broken = dataclasses.replace(place.built.services[0], service=service)
    with pytest.raises(WorldFault, match="web of pods did not become healthy: it has ended") as fault:
        place.open(services=(broken,))
    assert fault.value.log == "I give up"
