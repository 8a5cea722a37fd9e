"""The container in which pip runs: its isolation, its end, and that no code of a wheel runs in it."""

from __future__ import annotations

import tarfile
import time
import uuid
from collections.abc import Callable, Iterator
from io import BytesIO

import docker
import pytest
from django.conf import settings

from arena_kit.image import wheels
from arena_kit.image.calls import base_image_id, engine
from arena_kit.image.container import WORK, NameTaken
from arena_kit.image.errors import BuildFailed
from arena_kit.image.installer import Installer
from arena_kit.image.limits import INSTALL_SECONDS, TIMED_OUT, TOO_LARGE, TOO_MANY_FILES, WATCH
from arena_kit.image.packages import Network
from arena_kit.tests.image.archives import trap_wheel

PROBES = """
import ctypes, json, os, resource, socket
def tried(what, *arguments):
    try:
        what(*arguments)
        return "done"
    except OSError as error:
        return type(error).__name__
def write(folder):
    with open(os.path.join(folder, "probe"), "w") as file:
        file.write("x")
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
print(json.dumps({
    "user": os.getuid(),
    "capabilities": status["CapEff"].strip() + status["CapBnd"].strip(),
    "privileges": status["NoNewPrivs"].strip() + status["Seccomp"].strip(),
    "writes": {folder: tried(write, folder) for folder in
               ("/", "/opt", "/usr/lib/python3", "/var/tmp", "/dev", "/opt/arena-work/scratch", "/tmp")},
    "programs": tried(os.posix_spawn, "/tmp/probe", ["probe"], {}),
    "memory shared with others": os.path.exists("/dev/shm"),
    "sockets": {family: tried(socket.socket, getattr(socket, family), kind) for family, kind in
                (("AF_UNIX", 1), ("AF_INET", 1), ("AF_INET6", 1), ("AF_NETLINK", 3), ("AF_VSOCK", 1),
                 ("AF_PACKET", 3))},
    "limits": [resource.getrlimit(resource.RLIMIT_CORE)[1], resource.getrlimit(resource.RLIMIT_NOFILE)[1]],
    "new user namespace": ctypes.CDLL(None).unshare(0x10000000),
}))
"""
INTERFACES = "import json, os; print(json.dumps(sorted(os.listdir('/sys/class/net'))))"


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    with engine() as client:
        yield client


def made(client: docker.DockerClient, name: str = "", network: str = "none") -> Installer:
    prefix = settings.PLAYER_IMAGE_PREFIX
    return Installer(
        client,
        base_image_id(client, settings.PLAYER_BASE_IMAGE),
        name=name or f"{prefix}-test-{uuid.uuid4().hex}",
        prefix=prefix,
        network=network,
        environment=settings.PIP_ENVIRONMENT,
        certificates=Network(certificates=settings.PIP_CERTIFICATES).read_certificates(),
    )


def there(client: docker.DockerClient, name: str) -> bool:
    return any(found["Names"] == [f"/{name}"] for found in client.api.containers(all=True))


@pytest.mark.docker
def test_the_container_is_locked_down(client: docker.DockerClient) -> None:
    with made(client) as pip:
        found = pip.look(PROBES)

        config = client.api.inspect_container(pip._container.id)["HostConfig"]
    assert found == {
        "user": 60700,
        "capabilities": "0" * 32,
        "privileges": "12",
        "writes": {
            "/": "OSError", "/opt": "OSError", "/usr/lib/python3": "OSError", "/var/tmp": "OSError",
            "/dev": "PermissionError", "/opt/arena-work/scratch": "done", "/tmp": "done",
        },
        "programs": "PermissionError",
        "memory shared with others": False,
        "sockets": {
            "AF_UNIX": "done", "AF_INET": "done", "AF_INET6": "done",
            "AF_NETLINK": "PermissionError", "AF_VSOCK": "PermissionError", "AF_PACKET": "PermissionError",
        },
        "limits": [0, 1024],
        "new user namespace": -1,
    }  # fmt: skip
    limited = ("Memory", "MemorySwap", "PidsLimit", "NanoCpus", "OomScoreAdj")
    assert [config[name] for name in limited] == [2 << 30, 2 << 30, 128, 10**9, 1000]


@pytest.mark.docker
def test_the_container_and_its_volume_go_on_leaving_and_when_their_worker_dies(client: docker.DockerClient) -> None:
    left, dead = (f"{settings.PLAYER_IMAGE_PREFIX}-{word}-{uuid.uuid4().hex}" for word in ("left", "dead"))
    with made(client, left) as pip:
        volumes = [mount["Name"] for mount in client.api.inspect_container(pip._container.id)["Mounts"]]
    assert not there(client, left)

    orphan = made(client, dead).__enter__()
    volumes += [mount["Name"] for mount in client.api.inspect_container(orphan._container.id)["Mounts"]]
    # The kernel does this with the sockets of a process that has died.
    orphan._input._response.close()
    deadline = time.monotonic() + 60
    # The engine forgets a container before it removes its volume.
    left_over = {"not asked yet"}
    while (left_over or there(client, dead)) and time.monotonic() < deadline:
        time.sleep(0.1)
        left_over = {volume["Name"] for volume in client.api.volumes()["Volumes"] or ()} & set(volumes)

    assert not there(client, dead)
    assert len(volumes) == 2
    assert not left_over


@pytest.mark.docker
def test_a_name_is_given_to_one_container_at_a_time(client: docker.DockerClient) -> None:
    name = f"{settings.PLAYER_IMAGE_PREFIX}-once-{uuid.uuid4().hex}"

    with made(client, name), pytest.raises(NameTaken), made(client, name):
        pass


@pytest.mark.docker
@pytest.mark.network
def test_the_network_is_gone_once_the_wheels_are_there(client: docker.DockerClient) -> None:
    with made(client, network=settings.BUILD_NETWORK) as pip:
        status, output = pip.fetch(("six==1.16.0",), print)
        assert (status, len(pip.look(INTERFACES))) == (0, 2), output
        wheels = pip.wheels()

        assert pip.install(wheels, print)[0] == 0
        assert pip.look(INTERFACES) == ["lo"]
    assert [(wheel.name, wheel.version) for wheel in wheels] == [("six", "1.16.0")]


@pytest.mark.docker
def test_nothing_of_a_wheel_runs_while_it_is_installed(client: docker.DockerClient) -> None:
    name, content = trap_wheel()
    said: list[str] = []
    with made(client) as pip:
        pip.make_folders("wheels")
        pip.put({f"wheels/{name}": content})

        status, _ = pip.install(pip.wheels(), said.append)
        assert pip.look(INTERFACES) == ["lo"]
        packed = b"".join(pip.layer())

    assert (status, "trap ran" in " ".join(said)) == (0, False)
    with tarfile.open(fileobj=BytesIO(packed)) as tar:
        names = {entry.name.removeprefix("opt/requirements/") for entry in tar.getmembers()}
    assert {"trap/__init__.py", "trap.pth", "deep.pth", "bin/python3", "bin/sh", "bin/trap"} <= names


TOO_MUCH = [
    ("head -c 3000000 /dev/zero > big", 20, TOO_LARGE),
    ("for number in $(seq 60); do : > $number; done; sleep 60", 20, TOO_MANY_FILES),
    ("sleep 60", 1, TIMED_OUT),
]
OTHER_ENDS = [
    ("exit 3", 20, 3),
    ("kill -9 $$", 20, 137),
    ("head -c 3000000 /dev/zero > big; sleep 60", 20, TOO_LARGE),
]


@pytest.mark.docker
@pytest.mark.parametrize("commands", [TOO_MUCH, pytest.param(OTHER_ENDS, marks=pytest.mark.nightly)])
def test_what_takes_too_much_is_ended_with_a_status_of_its_own(
    commands: list[tuple[str, int, int]], client: docker.DockerClient
) -> None:
    with made(client) as pip:
        for number, (command, seconds, status) in enumerate(commands):
            pip.make_folders(f"scratch/{number}")
            folder = f"{WORK}/scratch/{number}"
            limits = (str(seconds), "0.1", "1000000", "50")
            shell = ("sh", "-c", f"cd {folder}; {command}")

            assert pip.run(("python3", "-I", "-c", WATCH, *limits, folder, *shell))[0] == status


class Clocked(Installer):
    """An Installer without an engine, in which every run takes the same time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self._now, self._step, self._certificates, self._constraints = 1000.0, seconds, b"", b""
        self._deadline = self._now + INSTALL_SECONDS
        self.given: list[str] = []
        monkeypatch.setattr(time, "monotonic", lambda: self._now)

    def run(
        self, command: tuple[str, ...], log: Callable[[str], None] | None = None, limit: int = 0
    ) -> tuple[int, str]:
        self.given.append(command[4])
        self._now += self._step
        return 0, ""

    def put(self, files: object) -> None: ...

    def make_folders(self, *names: str) -> None: ...


def test_all_rounds_share_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Clocked(monkeypatch, INSTALL_SECONDS / 2)

    ends = [pip.fetch(("six",), print)[0] for _ in range(3)]

    assert ends == [0, 0, TIMED_OUT]
    assert pip.given == [str(INSTALL_SECONDS), str(INSTALL_SECONDS // 2)]


@pytest.mark.docker
def test_too_many_packages_fail_the_build(client: docker.DockerClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "MAX_PACKAGES", 1)
    with made(client) as pip:
        pip.make_folders("wheels")
        pip.put({f"wheels/{name}-1.0-py3-none-any.whl": b"" for name in ("a", "b")})

        with pytest.raises(BuildFailed, match="need 2 packages; at most 1") as caught:
            pip.wheels()

    assert caught.value.code == "too_many_packages"
