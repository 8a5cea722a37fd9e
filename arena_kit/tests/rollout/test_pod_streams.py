"""What is carried to and from the pod of a world: who ended it, and what the cluster says meanwhile."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from arena_kit.cluster import streams
from arena_kit.cluster.streams import BINARY, OUTPUT, STATUS, Stream
from arena_kit.errors import PlatformFault
from arena_kit.rollout.pods import world as pod_world
from arena_kit.rollout.pods.calls import PodCalls
from arena_kit.rollout.pods.channel import RelayedChannel, _pump
from arena_kit.rollout.pods.host import PodWorlds
from arena_kit.rollout.pods.manifest import OWN, WATCHER, world_manifest
from arena_kit.rollout.pods.world import PodWorld
from arena_kit.rollout.worlds.world import WorldFault
from arena_kit.sandbox.base import SandboxUnavailable
from arena_kit.tests.cluster.api import ClusterApi
from arena_kit.tests.cluster.doubles import ClusterDouble
from arena_kit.tests.rollout.test_pods import POD, TENANT

websocket = pytest.importorskip("websocket")
pytest.importorskip("kubernetes")
SUCCESS = json.dumps({"status": "Success"}).encode()
KILLED = json.dumps({"status": "Failure", "details": {"causes": [{"reason": "ExitCode", "message": "137"}]}}).encode()
SECONDS = 10.0


class Far:
    """The cluster's end of a command's connection."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    def says(self, channel: int, data: bytes) -> None:
        """Send a frame, as servers do: not masked."""
        assert len(data) < 126
        self.end.sendall(bytes([0x80 | BINARY, len(data) + 1, channel]) + data)

    def ends(self, status: bytes = b"") -> None:
        if status:
            self.says(STATUS, status)
        self.end.close()


@contextmanager
def connected() -> Iterator[tuple[Stream, Far]]:
    """A connection of the real client, without the handshake."""
    near, far = socket.socketpair()
    connection = websocket.WebSocket(skip_utf8_validation=True)
    connection.sock, connection.connected = near, True
    late = websocket.WebSocketTimeoutException
    stream = Stream(connection, (websocket.WebSocketException, OSError), late)
    try:
        yield stream, Far(far)
    finally:
        stream.close()
        near.close()
        far.close()


class Relays(PodCalls):
    """Relays whose other end is here."""

    def __init__(self, *made: Stream) -> None:
        self._made = list(made)

    def relay(self, container: str, command: Sequence[str]) -> Stream:
        return self._made.pop(0)


@contextmanager
def led() -> Iterator[tuple[RelayedChannel, socket.socket, Far]]:
    """A channel on which the player has connected, and both ends of that."""
    with connected() as (stream, far):
        channel = RelayedChannel(Relays(stream), WATCHER, "/channel")
        far.says(OUTPUT, b"LC")
        ours = channel.listen("wire.sock").accept(time.monotonic() + SECONDS, lambda: True)
        assert ours is not None
        with ours:
            ours.settimeout(SECONDS)
            yield channel, ours, far


def test_a_player_that_hangs_up_is_not_cut_off() -> None:
    with led() as (channel, ours, far):
        far.says(OUTPUT, b"bye")
        far.ends(SUCCESS)
        assert ours.recv(100) == b"bye"
        assert ours.recv(100) == b""
        assert not channel.is_lost


@pytest.mark.parametrize("status", [b"", KILLED, b'{"status": "Failure"}'])
def test_a_connection_that_the_cluster_ends_is_lost(status: bytes) -> None:
    with led() as (channel, ours, far):
        assert not channel.is_lost
        far.ends(status)
        assert ours.recv(100) == b""
        assert channel.is_lost


def test_a_player_that_ends_while_it_is_asked_is_not_cut_off() -> None:
    """Nothing can be sent to it then; that it has ended by itself was said before."""
    with connected() as (stream, far):
        channel, (ours, theirs) = RelayedChannel(Relays(), WATCHER, "/channel"), socket.socketpair()
        with ours, theirs:
            far.says(OUTPUT, b"")
            far.ends(SUCCESS)
            ours.sendall(b"question")
            _pump(stream, theirs, b"", channel._ended)
        assert stream.status == 0
        assert not channel.is_lost


def test_what_this_process_ends_is_not_lost() -> None:
    with led() as (channel, ours, far):
        ours.close()
        # It says goodbye, and hangs up.
        far.end.settimeout(SECONDS)
        while far.end.recv(100):
            pass
        assert not channel.is_lost


def test_a_relay_that_ends_before_the_player_connects_is_lost() -> None:
    with connected() as (stream, far):
        channel = RelayedChannel(Relays(stream), WATCHER, "/channel")
        far.says(OUTPUT, b"L")
        listener = channel.listen("wire.sock")
        far.ends()
        assert listener.accept(time.monotonic() + SECONDS, lambda: True) is None
        assert channel.is_lost


def test_a_world_whose_player_was_cut_off_is_not_judged() -> None:
    world = PodWorld(Cluster([]), TENANT, POD, {})  # type: ignore[arg-type]  # a double
    world._player.is_lost = True
    with pytest.raises(WorldFault) as caught:
        world.export()
    assert caught.value.code == "player_lost"


def test_a_command_that_says_nothing_keeps_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PING_SECONDS", 0.05)
    with connected() as (stream, far):
        heard: list[bytes] = []

        def answer() -> None:
            heard.append(far.end.recv(100))
            far.says(OUTPUT, b"at last")

        thread = threading.Thread(target=answer)
        thread.start()
        assert stream.take(time.monotonic() + SECONDS) == (OUTPUT, b"at last")
        thread.join()
        # The first byte of a ping.
        assert heard[0][:1] == b"\x89"


def pod(states: dict[str, Any], **status: Any) -> dict[str, Any]:
    containers = [{"name": name, "state": state} for name, state in states.items()]
    return {
        "metadata": {"name": "pod", "uid": "1", "labels": {}},
        "status": {"phase": "Running", "containerStatuses": containers, **status},
    }


class Cluster:
    """A double of the calls, which answers one thing after the other, the last one for ever. None: it does not."""

    def __init__(self, pods: Sequence[dict[str, Any] | None]) -> None:
        self._pods, self.created, self.removed = list(pods), 0, 0

    def pods(self, *labels: str) -> list[dict[str, Any]]:
        found = self._pods.pop(0) if len(self._pods) > 1 else self._pods[0]
        if found is None:
            raise SandboxUnavailable("The API does not answer well (status 500).", code="cluster_unavailable")
        return [found]

    def job(self, name: str) -> dict[str, Any]:
        return {"metadata": {"name": name}, "spec": {}, "status": {}}

    def events(self, name: str) -> list[dict[str, Any]]:
        return []

    def create(self, manifest: dict[str, Any]) -> None:
        self.created += 1

    def log_end(self, name: str, container: str) -> bytes:
        return b"no such library\n"


NAMES = [one["name"] for one in world_manifest(POD, TENANT)["spec"]["template"]["spec"]["containers"]]
RUNNING = pod({name: {"running": {}} for name in NAMES})
BEGINNING = pod({name: {"waiting": {"reason": "PodInitializing"}} for name in NAMES})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_world, "_POLL_SECONDS", 0.0)


def opened(*pods: dict[str, Any] | None) -> PodWorld:
    return PodWorld(Cluster(pods), TENANT, POD, {})  # type: ignore[arg-type]  # a double


@pytest.mark.usefixtures("quick")
def test_an_api_that_fails_for_a_moment_costs_no_world() -> None:
    opened(None, BEGINNING, None, None, RUNNING).come_up()


@pytest.mark.usefixtures("quick")
def test_an_api_that_stays_away_is_waited_for_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_world, "PATIENCE", {})
    with pytest.raises(WorldFault) as caught:
        opened(None).come_up()
    assert caught.value.code == "cluster_unavailable"


@pytest.mark.usefixtures("quick")
def test_a_container_that_ends_while_others_begin_is_named_at_once() -> None:
    ended = {"terminated": {"exitCode": 127, "reason": "StartError", "message": "exec: /bin/sh: no such file"}}
    with pytest.raises(WorldFault, match="service-web ended before .* exec: /bin/sh: no such file") as caught:
        opened(BEGINNING, pod({name: {"running": {}} for name in NAMES} | {"service-web": ended})).come_up()
    assert caught.value.log == "no such library"


EVICTED = pod({}, phase="Failed", reason="Evicted", message="The node was low on memory.")
DRAINED = pod(
    {name: {"terminated": {"exitCode": 0}} for name in NAMES},
    conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}],
)


@pytest.mark.parametrize("taken", [EVICTED, DRAINED])
def test_how_a_container_of_a_pod_that_is_taken_away_has_ended_is_not_asked(taken: dict[str, Any]) -> None:
    """Or the end of the player would be the player's."""
    calls = PodCalls(Cluster([RUNNING, taken]), POD.token, OWN.values())  # type: ignore[arg-type]  # a double
    assert calls.is_running("player")
    with pytest.raises(PlatformFault, match=r"The cluster took the pod away: .*[a-zA-Z]\.$") as caught:
        calls.ended("player", 0.0)
    assert caught.value.code == "pod_disrupted"


def test_worlds_of_dead_claims_are_reaped_and_those_without_a_claim_are_not(tmp_path: Path) -> None:
    """A command plays again without a row of its own: no worker knows of it."""
    double = ClusterDouble()
    alone = type(POD)(POD.package, "e" * 32, "e" * 32, POD.seconds, POD.extras, POD.browser_image)
    with ClusterApi(double, lambda: None).served(tmp_path) as config:
        worlds = PodWorlds(TENANT, browser_image="", kubeconfig=config)
        for each in (POD, alone):
            worlds.cluster.create(world_manifest(each, TENANT))
        assert worlds.reap(lambda: frozenset([POD.claim])) == 0
        assert worlds.reap(frozenset) == 1
    assert list(double.made) == [alone.name]
