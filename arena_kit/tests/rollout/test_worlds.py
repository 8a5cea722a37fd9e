"""Packages built, and worlds of them in containers: state, judging, the network, and what is left afterwards."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena_kit.environment.records import Fault
from arena_kit.errors import PlatformFault
from arena_kit.image.engine import connect
from arena_kit.rollout.attempt import TaskRefused, Work, null_agent, task_accept, task_attempt
from arena_kit.rollout.building.build import package_build, package_remove, package_tag
from arena_kit.rollout.building.leftovers import building, leftovers_remove
from arena_kit.rollout.exports.state import ExportRefused
from arena_kit.rollout.judge import TaskOutcome
from arena_kit.rollout.packages.package import Package, PackageRefused
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.worlds import front
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.host import DockerWorlds
from arena_kit.rollout.worlds.leases import NoRoom
from arena_kit.rollout.worlds.world import ROLLOUT_LABEL, WORLD_LABEL, World, WorldFault
from arena_kit.tests.rollout import notes

pytestmark = [pytest.mark.docker, pytest.mark.slow]
PROBE = """
import json, os, socket
status = open("/proc/self/status").read()
found = {"links": sorted(os.listdir("/sys/class/net")), "caps": status.split("CapEff:")[1].split()[0]}
for name, host in {"gateway": "172.17.0.1", "metadata": "169.254.169.254", "out": "1.1.1.1"}.items():
    try:
        socket.create_connection((host, 80), 2).close()
        found[name] = "open"
    except OSError as error:
        found[name] = error.errno
try:
    found["name"] = socket.gethostbyname("example.org")
except OSError:
    found["name"] = "unknown"
found["service"] = socket.gethostbyname("web")
try:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    found["packets"] = "open"
except OSError:
    found["packets"] = "refused"
print(json.dumps(found))
"""
UNREACHABLE = 101


@dataclasses.dataclass(frozen=True)
class Place:
    """A package that was built, and the worlds of this module."""

    package: Package
    built: BuiltPackage
    worlds: DockerWorlds
    folder: Path


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    worlds, file = notes.worlds(folder / "worlds"), notes.packed()
    package = notes.package(file)
    built = package_build(file, package, worlds=worlds, bases=notes.bases(), log=lambda _: None, seed=7)
    # Worlds of killed runs on this engine, whose time is over, would be counted in tests.
    worlds.reap()
    yield Place(package, built, worlds, folder)
    package_remove(built, notes.bases())
    shutil.rmtree(folder)


def containers() -> list[str]:
    """The containers of worlds of this process's package that are on the engine."""
    client = connect()
    try:
        found = client.api.containers(all=True, filters={"label": WORLD_LABEL})
        return [each["Id"] for each in found if each["Labels"].get("arena.test") == notes.bases().prefix]
    finally:
        client.close()


def labels() -> dict[str, str]:
    return {"arena.test": notes.bases().prefix}


def test_a_seeded_world_is_judged_and_nothing_is_left(place: Place) -> None:
    with place.built.state(place.built.fresh) as fresh:
        assert fresh.query("SELECT text FROM note ORDER BY id") == [("Call Ada",), ("7",)]
        assert fresh.digest() == place.built.digest
    milk = notes.task("milk", place.package)
    attempt = task_attempt(place.worlds, place.built, milk, notes.oracle, labels=labels())
    assert (attempt.verdict.outcome, attempt.verdict.sentence) == (TaskOutcome.SOLVED, "")
    idle = task_attempt(place.worlds, place.built, milk, null_agent, labels=labels())
    assert (idle.verdict.outcome, idle.verdict.code) == (TaskOutcome.NOT_SOLVED, "check_failed")
    with place.built.state(idle.files) as state:
        assert state.digest() == place.built.digest, "A world was not fresh, or an attempt has left something."
    assert containers() == []
    assert place.worlds.reserved_bytes() == 0


def test_containers_are_found_by_the_rollout_that_they_work_for(place: Place) -> None:
    given = {**labels(), ROLLOUT_LABEL: "7b1e"}
    with place.worlds.open(place.built, seconds=60, labels=given) as world:
        client = connect()
        try:
            found = client.api.containers(filters={"label": f"{ROLLOUT_LABEL}=7b1e"})
        finally:
            client.close()
        services = ["_pause", *(each.service.name for each in place.built.services)]
        if place.built.front:
            services.append(front.NAME)
        names = {f"/arena-world-7b1e-{world.token[:16]}-{name}" for name in services}
    assert {name for each in found for name in each["Names"]} == names


def test_a_world_has_no_way_out_and_is_removed_when_its_worker_is_gone(place: Place) -> None:
    world = place.worlds.open(place.built, seconds=600, labels=labels())
    assert place.worlds.reserved_bytes() > place.built.memory_bytes
    found: dict[str, Any] = json.loads(world.run("web", ["python3", "-c", PROBE], seconds=30).output)
    assert found == {
        "links": ["lo"], "caps": "0" * 16, "gateway": UNREACHABLE, "metadata": UNREACHABLE, "out": UNREACHABLE,
        "name": "unknown", "service": "127.0.0.1", "packets": "refused",
    }  # fmt: skip
    assert world.run("web", ["sleep", "60"], seconds=0.2).status < 0
    assert world.log("web") == "Notes are served"
    assert place.worlds.reap() == 0
    # As the kernel does when the worker dies.
    fcntl.flock(world._lease._descriptor, fcntl.LOCK_UN)
    assert place.worlds.reap() == len(("web", "pause"))
    assert containers() == []
    world.remove()


@pytest.mark.nightly
def test_tasks_are_accepted_when_the_oracle_passes_and_doing_nothing_fails(place: Place) -> None:
    for key in ("milk", "bread"):
        task_accept(place.worlds, place.built, notes.task(key, place.package), notes.oracle)
    with pytest.raises(TaskRefused) as idle:
        task_accept(place.worlds, place.built, notes.task("idle", place.package), notes.oracle)
    assert idle.value.code == "null_passed"
    with pytest.raises(TaskRefused) as lost:
        task_accept(place.worlds, place.built, notes.task("milk", place.package), null_agent)
    assert (lost.value.code, lost.value.verdict.code) == ("oracle_failed", "check_failed")


@pytest.mark.nightly
def test_a_world_whose_time_is_over_is_removed_by_any_arena(place: Place, tmp_path: Path) -> None:
    others = notes.worlds(tmp_path / "worlds")
    with place.worlds.open(place.built, seconds=600, labels=labels()):
        assert others.reap() == 0
    with place.worlds.open(place.built, seconds=-1, labels=labels()) as world:
        assert others.reap() == len(("web", "pause"))
        assert containers() == []
        with pytest.raises(PlatformFault, match="removed from outside"):
            world.export()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("changes", "code", "sentence"),
    [
        ({"manifest": {"volatile": {}}, "services/web/server.py": "import seed\n" + notes.SERVER.replace(
            'print("', 'sqlite3.connect(DATA).execute("UPDATE note SET at = random()").connection.commit(); print("'
        ), "services/web/seed.py": "import os\nif not os.path.exists('/var/tmp/notes.sqlite'):\n" + "".join(
            f"    {line}\n" for line in notes.SEED.replace('os.environ["SEED"]', '"0"').splitlines()
        )}, "not_reproducible", "note (2)"),
        ({"services/web/seed.py": "print('No data'); exit(3)"}, "hook_failed", "It ended with 3. It printed: No data"),
        ({"services/web/server.py": "print('Broken')"}, "world_not_healthy", "it has ended. It printed: Broken"),
        ({"compose": {"healthcheck": {"test": ["false"], "retries": 2, "interval": "10ms"}}}, "world_not_healthy",
         "health check does not succeed"),
        ({"compose": {"user": "stranger"}}, "world_not_healthy", "web does not start."),
        ({"manifest": {"exports": [{"service": "web", "files": "/var/none"}]}}, "export_failed", "no file /var/none"),
        ({"manifest": {"exports": [{"service": "web", "files": "/dev/null", "format": "file"}]}}, "bad_export",
         "not a plain file"),
        ({"manifest": {"exports": [{"service": "web", "files": "/var/tmp/out", "format": "file"}]},
          "services/web/seed.py": notes.SEED + "os.mkdir('/var/tmp/out')\nos.symlink('/etc', '/var/tmp/out/x')\n"},
         "bad_export", "not a plain file"),
    ],
)  # fmt: skip
def test_a_package_that_does_not_hold_is_refused_and_leaves_nothing(
    changes: dict[str, Any], code: str, sentence: str, tmp_path: Path
) -> None:
    worlds, file = notes.worlds(tmp_path / "worlds"), notes.packed(**changes)
    with pytest.raises(PackageRefused) as caught:
        package_build(file, notes.package(file), worlds=worlds, bases=notes.bases(), log=lambda _: None)
    assert (caught.value.flaws[0].code, sentence in str(caught.value)) == (code, True), str(caught.value)
    assert worlds.reserved_bytes() == 0
    client = connect()
    try:
        tags = [tag for image in client.api.images() for tag in image["RepoTags"] or ()]
    finally:
        client.close()
    assert not [tag for tag in tags if tag.startswith(f"{notes.bases().prefix}-notes:{caught_tag(file)}")]


def caught_tag(file: Any) -> str:
    return notes.package(file).sha256[:16]


@pytest.mark.nightly
def test_a_killed_process_leaves_a_world_that_is_reaped(place: Place) -> None:
    pid = os.fork()
    if not pid:
        place.worlds.open(place.built, seconds=600, labels=labels())
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert len(containers()) == len(("web", "pause"))
    assert place.worlds.reserved_bytes() == 0
    assert place.worlds.reap() == len(("web", "pause"))
    assert containers() == []


@pytest.mark.nightly
def test_a_killed_build_leaves_nothing_and_a_second_one_waits(place: Place) -> None:
    file, builds = notes.packed(), place.worlds.builds

    def say(line: str) -> None:
        if line == "A second world starts, of the stored images":
            os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if not pid:
        package_build(file, notes.package(file), worlds=place.worlds, bases=notes.bases(), log=say, seed=8)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    kept = {package_tag(place.built.sha256, place.built.seed)}
    assert leftovers_remove(builds, notes.bases().prefix, kept) == len(("app", "seed", "seeded"))
    assert list(builds.iterdir()) == []
    with place.worlds.open(place.built, seconds=600, labels=labels()):
        pass
    with (
        building(builds, package_tag(notes.package(file).sha256, 8)),
        pytest.raises(PlatformFault, match="being built already"),
    ):
        package_build(file, notes.package(file), worlds=place.worlds, bases=notes.bases(), log=say, seed=8)


@pytest.mark.nightly
def test_a_world_waits_for_memory_and_a_dying_service_is_said(place: Place, tmp_path: Path) -> None:
    small = notes.worlds(tmp_path / "worlds", memory_bytes=300 << 20)
    with small.open(place.built, seconds=600, labels=labels()), pytest.raises(NoRoom):
        small.open(place.built, seconds=600)
    lost = dataclasses.replace(place.built, services=tuple(
        dataclasses.replace(each, service=dataclasses.replace(each.service, command=("python3", "-c", "print('Gone')")))
        for each in place.built.services
    ))  # fmt: skip
    with pytest.raises(WorldFault, match="it has ended") as caught:
        small.open(lost, seconds=600, labels=labels())
    assert caught.value.log == "Gone"
    assert small.reserved_bytes() == 0
    assert containers() == []
    attempt = task_attempt(small, lost, notes.task("milk", place.package), notes.oracle)
    assert (attempt.verdict.fault, attempt.verdict.code) == (Fault.PLATFORM, "world_not_healthy")


@pytest.mark.nightly
def test_what_becomes_of_services_is_no_agents_fault(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(world: World, _: Task) -> Work:
        world.run("web", ["python3", "-c", "import os, signal; os.kill(-1, signal.SIGKILL)"], seconds=30)
        while world.is_running("web"):  # the engine learns of it a moment later
            time.sleep(0.02)
        return Work(None, "SUCCESS")

    milk = notes.task("milk", place.package)
    ended = task_attempt(place.worlds, place.built, milk, crash, labels=labels())
    assert (ended.verdict.fault, ended.verdict.code) == (Fault.PLATFORM, "service_ended")
    assert ended.logs == {"web": "Notes are served"}
    monkeypatch.setattr("arena_kit.rollout.attempt.FRESH_ONE_IN", 1)
    fresh = task_attempt(place.worlds, place.built, milk, notes.oracle, labels=labels())
    assert fresh.verdict.outcome is TaskOutcome.SOLVED
    changed = dataclasses.replace(place.built, digest="0" * 64)
    stale = task_attempt(place.worlds, changed, milk, notes.oracle, labels=labels())
    assert (stale.verdict.fault, stale.verdict.code) == (Fault.PLATFORM, "world_not_fresh")
    assert containers() == []


HOSTILE = {
    "forks without end": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
    "prints without end": "while True: print('x' * 1000)\n",
    "takes all memory": "held = []\nwhile True: held.append(b'x' * (1 << 20))\n",
    "is deaf to signals": "import signal, time\nfor number in range(1, 32):\n    if number not in (9, 19): "
    "signal.signal(number, signal.SIG_IGN)\ntime.sleep(1000)\n",
    "listens for nobody": "import socket, time\nsocket.create_server(('127.0.0.1', 8001))\ntime.sleep(1000)\n",
}


@pytest.mark.nightly
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_service_ends_with_its_world(
    place: Place, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena_kit.rollout.worlds.host.PROVISION_SECONDS", 15.0)
    (built,) = place.built.services
    service = dataclasses.replace(built.service, command=("python3", "-c", HOSTILE[case]))
    lost = dataclasses.replace(place.built, services=(dataclasses.replace(built, service=service),))
    attempt = task_attempt(place.worlds, lost, notes.task("milk", place.package), notes.oracle, labels=labels())
    assert (attempt.verdict.fault, attempt.verdict.code) == (Fault.PLATFORM, "world_not_healthy")
    assert containers() == []
    assert place.worlds.reserved_bytes() == 0


def use_until_it_fails(place: Place, package: BuiltPackage) -> None:
    with place.worlds.open(package, seconds=600, labels=labels()) as world:
        while True:
            world.export()


@pytest.mark.nightly
def test_two_services_with_one_port_do_not_both_start(place: Place) -> None:
    (built,) = place.built.services
    twin = dataclasses.replace(built, service=dataclasses.replace(built.service, name="twin"))
    twice = dataclasses.replace(place.built, services=(built, twin))
    # The port of the first accepts for the second as well, which has ended when its state is asked for.
    with pytest.raises(WorldFault):
        use_until_it_fails(place, twice)
    assert containers() == []


@pytest.mark.nightly
def test_a_world_that_fills_the_disk_is_removed_by_the_reaper(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_kit.rollout.worlds.host.MOST_WRITTEN_BYTES", 32 << 20)
    fill = "open('/var/tmp/fill', 'wb').write(bytes(48 << 20))"
    with place.worlds.open(place.built, seconds=600, labels=labels()) as world:
        assert place.worlds.reap() == 0
        assert world.run("web", ["python3", "-c", fill], seconds=30).status == 0
        assert place.worlds.reap() == len(("web", "pause"))
        assert containers() == []


@pytest.mark.nightly
def test_an_export_that_fails_is_tried_again_once(place: Place) -> None:
    halting = "import os, sys; path = '/tmp/tried'; first = not os.path.exists(path); open(path, 'w'); sys.exit(first)"
    command = ("python3", "-c", halting)
    exports = tuple(dataclasses.replace(each, command=command) for each in place.built.exports)
    with place.worlds.open(dataclasses.replace(place.built, exports=exports), seconds=600, labels=labels()) as world:
        assert world.export().keys() == {"notes.sqlite"}
    never = tuple(dataclasses.replace(each, command=("false",)) for each in place.built.exports)
    with (
        place.worlds.open(dataclasses.replace(place.built, exports=never), seconds=600, labels=labels()) as world,
        pytest.raises(WorldFault, match="ended with 1"),
    ):
        world.export()


@pytest.mark.nightly
def test_a_world_whose_export_is_too_large_is_removed_at_once(place: Place) -> None:
    grow = "open('/var/tmp/notes.sqlite', 'r+b').truncate(1 << 30)"
    with place.worlds.open(place.built, seconds=600, labels=labels()) as world:
        assert world.run("web", ["python3", "-c", grow], seconds=30).status == 0
        with pytest.raises(ExportRefused) as caught:
            world.export()
    assert caught.value.code == "export_too_large"
    # The engine would wait with the removal for the end of the tar.
    assert containers() == []


LISTEN = """
import socket
held = [socket.socket(socket.AF_UNIX), socket.create_server(("127.0.0.1", 9000))]
held[0].bind("\\0shared")
held[0].listen()
import time
time.sleep(600)
"""
KNOCK = """
import socket
for address, kind in (("\\0shared", socket.AF_UNIX), (("127.0.0.1", 9000), socket.AF_INET)):
    with socket.socket(kind) as knocking:
        print(knocking.connect_ex(address))
"""


@pytest.mark.nightly
def test_worlds_do_not_reach_each_others_ports_and_abstract_sockets(place: Place) -> None:
    with (
        place.worlds.open(place.built, seconds=600, labels=labels()) as one,
        place.worlds.open(place.built, seconds=600, labels=labels()) as other,
    ):
        # It goes on after its seconds, as a command that is not waited for.
        assert one.run("web", ["python3", "-c", LISTEN], seconds=3).status < 0
        assert one.run("web", ["python3", "-c", KNOCK], seconds=30).output.split() == ["0", "0"]
        refused = other.run("web", ["python3", "-c", KNOCK], seconds=30).output.split()
    assert refused == [str(errno.ECONNREFUSED)] * 2
