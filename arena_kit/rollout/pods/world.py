"""A world in one pod of a cluster."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from arena_kit.cluster.client import ApiCluster, JobRefused
from arena_kit.cluster.manifest import Tenant
from arena_kit.cluster.status import Ended, Waiting, status_of
from arena_kit.errors import PlatformFault
from arena_kit.rollout.browser.container import NAME as BROWSER
from arena_kit.rollout.pods.calls import PodCalls
from arena_kit.rollout.pods.channel import RelayedChannel
from arena_kit.rollout.pods.manifest import (
    BROWSER_FOLDER,
    GO,
    OWN,
    PLAYER_FOLDER,
    WATCHER,
    WorldPod,
    container_of,
    world_manifest,
)
from arena_kit.rollout.pods.player import player_launch
from arena_kit.rollout.worlds import front
from arena_kit.rollout.worlds.leases import NoRoom
from arena_kit.rollout.worlds.world import PAUSE, Options, World, WorldFault
from arena_kit.sandbox.base import Container, Launch
from arena_kit.sandbox.channel import Channel

logger = logging.getLogger(__name__)
UNAVAILABLE = "cluster_unavailable"
PATIENCE: Mapping[str, float] = {"no_capacity": 30.0, "image_missing": 60.0, "pod_refused": 30.0, UNAVAILABLE: 30.0}
"""Seconds for which a pod may wait for a reason before its world is given up."""
COME_UP_SECONDS = 600.0
"""For everything together, such as fetching large images for the first time."""
LEAVE_SECONDS, GO_SECONDS = 20.0, 20.0
_POLL_SECONDS = 0.3
_GO_PROGRAM = "import sys; open(sys.argv[1], 'x').close()"
_KILL_PROGRAM = "import os, signal; os.kill(-1, signal.SIGKILL)"
"""Ends all processes of a container but the first one and itself."""


class PodWorld(World):
    """A world whose containers are those of one pod.

    Clean-up needs no `finally`: `PodWorlds.reap` of any worker removes the pods of claims that are not alive, and the
    cluster those whose time is over.
    """

    def __init__(self, cluster: ApiCluster, tenant: Tenant, pod: WorldPod, labels: Mapping[str, str]) -> None:
        self._cluster, self._tenant, self._pod = cluster, tenant, pod
        self._pod_calls = PodCalls(cluster, pod.token, OWN.values())
        super().__init__(pod.package, pod.token, labels, self._pod_calls)
        self._containers[PAUSE] = WATCHER
        self._is_removed = False
        self._player = RelayedChannel(self._pod_calls, WATCHER, PLAYER_FOLDER)
        self.has_player = pod.extras.player is not None

    def come_up(self) -> None:
        """Make the pod, and wait until its containers run. Raises NoRoom if the cluster has no room for it now."""
        manifest = world_manifest(self._pod, self._tenant)
        try:
            self._cluster.create(manifest)
        except JobRefused as refusal:
            raise _refused(refusal.code, str(refusal)) from None
        names = {each["name"] for each in manifest["spec"]["template"]["spec"]["containers"]}
        deadline, since, code = time.monotonic() + COME_UP_SECONDS, time.monotonic(), ""
        while (waits := self._waits(names)) is not None:
            if waits.code != code:
                since, code = time.monotonic(), waits.code
            now = time.monotonic()
            if now > deadline or (code and now - since > PATIENCE.get(code, 0.0)):
                raise _refused(code or "world_not_started", waits.sentence)
            time.sleep(_POLL_SECONDS)

    def provision(self, deadline: float) -> None:
        if self.package.front:
            # It has begun with the pod, and listens before any service may.
            self._containers[front.NAME] = container_of(front.NAME)
            self._wait_for_front(deadline)
        self._start_in_order(self._let_go, deadline)

    def join(self, name: str, options: Options) -> None:
        self._let_go(name)

    def leave(self, name: str) -> None:
        """See World. Raises PlatformFault if it does not end: nothing is exported then."""
        if not (container := self._containers.get(name, "")):
            return
        if not self._pod_calls.ended(container, 0.0):
            # It ends by itself when it is hung up on, unless what runs in it has taken it over.
            if not self._pod_calls.ended(container, LEAVE_SECONDS / 4):
                deadline = time.monotonic() + GO_SECONDS
                self._pod_calls.run(container, ["python3", "-I", "-S", "-c", _KILL_PROGRAM], deadline=deadline)
            if not self._pod_calls.ended(container, LEAVE_SECONDS):
                raise WorldFault(f"The container {container} does not end.", code="world_not_frozen")
        self._containers.pop(name, None)

    def export(self) -> dict[str, bytes]:
        """See World. Raises WorldFault if the player was cut off, so that its silence is not taken for its fault."""
        if self._player.is_lost:
            raise WorldFault("The cluster has ended the connection to the player.", code="player_lost")
        if BROWSER in self._containers:
            self.leave(BROWSER)
        return super().export()

    def channel(self, name: str, parent: Path, fill: Callable[[Path], object]) -> Channel:
        return RelayedChannel(self._pod_calls, WATCHER, BROWSER_FOLDER)

    def launch(self, player: Launch) -> Container:
        return player_launch(self._pod_calls, self._player, player)

    def remove(self) -> None:
        if self._is_removed:
            return
        self._is_removed = True
        try:
            self._cluster.remove(self._pod.name)
        except PlatformFault as fault:
            logger.error("The world %s could not be removed and is left to the reaper: %s", self.token, fault)

    def _let_go(self, name: str) -> None:
        """Let a container begin, which waits for its file."""
        self._containers[name] = container_of(name)
        command = ["python3", "-I", "-S", "-c", _GO_PROGRAM, f"{GO}/{name}"]
        ran = self._pod_calls.run(WATCHER, command, deadline=time.monotonic() + GO_SECONDS)
        if ran.status != 0:
            raise WorldFault(f"The container of {name} could not be let go.", code="world_lost", log=ran.output)

    def _waits(self, names: set[str]) -> Waiting | None:
        """Return what the pod waits for; None once containers of these names run. Raises PlatformFault if one ends."""
        try:
            states = self._pod_calls.states(at_once=True)
            if ended := sorted(name for name in names if "terminated" in states.get(name, {})):
                why = states[ended[0]]["terminated"]
                said = str(why.get("message") or why.get("reason") or "")[:300]
                sentence = f"The container {ended[0]} ended before the world was there. {said}".strip()
                raise WorldFault(sentence, code="world_not_started", log=self._pod_calls.log(ended[0]))
            return None if all("running" in states.get(name, {}) for name in names) else self._reason()
        except PlatformFault as fault:
            if fault.code != UNAVAILABLE:
                raise
            return Waiting(fault.code, str(fault))

    def _reason(self) -> Waiting:
        """Return why the pod waits, as far as its cluster reports it. Raises PlatformFault once it has ended."""
        if not (job := self._cluster.job(self._pod.name)):
            # E.g. because its claim was lost, and a reaper has taken it for a leftover.
            raise PlatformFault("The Job of the world was removed from outside.", code="world_lost")
        pod = self._pod_calls.look()
        name = self._pod_calls.name if pod else self._pod.name
        status = status_of(job, [pod] if pod else [], self._cluster.events(name), main=WATCHER)
        if isinstance(status, Ended):
            raise WorldFault(status.sentence or "The pod of the world ended.", code=status.code or "world_lost")
        return status if isinstance(status, Waiting) else Waiting()


def _refused(code: str, sentence: str) -> PlatformFault:
    return NoRoom(sentence, code="no_capacity") if code == "no_capacity" else WorldFault(sentence, code=code)
