"""The containers of a world's pod: whether they run, what they print, and commands in them."""

from __future__ import annotations

import contextlib
import posixpath
import time
from collections.abc import Collection, Iterator, Mapping, Sequence

from arena_kit.cluster.client import ApiCluster, Plain
from arena_kit.cluster.status import disruption, states_of
from arena_kit.cluster.streams import OUTPUT, Stream
from arena_kit.errors import PlatformFault
from arena_kit.rollout.exports.state import ExportRefused
from arena_kit.rollout.pods.manifest import WORLD
from arena_kit.rollout.worlds.containers import OUTPUT_BYTES, UNENDED, Ran, output_text
from arena_kit.sandbox.base import SandboxError

LOOK_SECONDS = 1.0
"""How old what is known about the pod may be."""
_POLL_SECONDS = 0.2
REST_BYTES = 1 << 20
"""The most bytes that a command may print after the end of its tar."""
_OWN_TAR = """
import sys, tarfile
with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
    tar.add(sys.argv[1], sys.argv[1].rpartition("/")[2])
"""
"""Packs a file where only Python is sure to be there."""


class PodCalls:
    """Calls about the containers of one pod, by their names. Raises PlatformFault."""

    def __init__(self, cluster: ApiCluster, token: str, own: Collection[str]) -> None:
        """token: of the world. own: names of the containers whose image is the arena's own."""
        self._cluster, self._token, self._own = cluster, token, own
        self._pod: Plain = {}
        self._looked_at = 0.0

    @property
    def name(self) -> str:
        """The pod's name."""
        return str(self._pod["metadata"]["name"])

    def look(self, *, at_once: bool = False) -> Plain:
        """Return the pod as the API shows it; empty while there is none. Raises PlatformFault once it is taken away.

        at_once: whether what is known must not be older than this call.
        """
        now = time.monotonic()
        if at_once or not self._pod or now - self._looked_at > LOOK_SECONDS:
            found = self._cluster.pods(f"{WORLD}={self._token}")
            self._looked_at = now
            if self._pod:
                # A Job makes another pod where one was deleted, and nothing of the world is in that one.
                own = self._pod["metadata"]["uid"]
                found = [pod for pod in found if pod["metadata"]["uid"] == own]
                if not found or found[0]["metadata"].get("deletionTimestamp"):
                    raise PlatformFault("The pod of the world was removed from outside.", code="world_lost")
            self._pod = found[0] if found else {}
            if why := disruption(self._pod):
                raise PlatformFault(f"The cluster took the pod away: {why}", code="pod_disrupted")
        return self._pod

    def states(self, *, at_once: bool = False) -> dict[str, Plain]:
        """Return the states of the containers by name, by the API: waiting, running or terminated. As `look`."""
        return states_of(self.look(at_once=at_once))

    def ended(self, container: str, seconds: float) -> Plain:
        """Return how a container ended, by the API; empty if it has not within so many seconds."""
        deadline = time.monotonic() + seconds
        while True:
            ended: Plain = self.states(at_once=True).get(container, {}).get("terminated") or {}
            if ended or time.monotonic() > deadline:
                return ended
            time.sleep(_POLL_SECONDS)

    def is_running(self, container: str) -> bool:
        """See Containers."""
        return "running" in self.states().get(container, {})

    def log(self, container: str) -> str:
        """See Containers."""
        with contextlib.suppress(SandboxError):
            return output_text(self._cluster.log_end(self.name, container))
        return ""

    def run(
        self, container: str, command: Sequence[str], *, deadline: float, environment: Mapping[str, str] | None = None
    ) -> Ran:
        """See Containers."""
        given = ["env", *(f"{name}={value}" for name, value in environment.items())] if environment else []
        with self._started(container, [*given, *command]) as stream:
            output = PodOutput(stream)
            while output.more(deadline):
                pass
            return Ran(UNENDED if stream.status is None else stream.status, output_text(output.said))

    @contextlib.contextmanager
    def follow(self, container: str, command: Sequence[str]) -> Iterator[PodOutput]:
        """See Containers."""
        with self._started(container, command) as stream:
            yield PodOutput(stream)

    @contextlib.contextmanager
    def archive(self, container: str, path: str, *, deadline: float) -> Iterator[Iterator[bytes]]:
        """See Containers. Services need `tar` in their image."""
        with self._started(container, self._packing(container, path)) as stream:
            output = PodOutput(stream)
            yield _pieces(stream, output, deadline)
            left = REST_BYTES
            while not stream.is_over and left > 0 and time.monotonic() < deadline:
                left -= len(stream.take(deadline)[1])
        if stream.status != 0:
            why = output_text(output.said)[:300]
            raise ExportRefused(f"The service has no file {path} to export. {why}".strip(), code="export_failed")

    def relay(self, container: str, command: Sequence[str]) -> Stream:
        """Start a command whose input and output the caller reads, writes and closes."""
        return self._cluster.execute(self.name, container, command, has_input=True)

    def close(self) -> None:
        """See Containers. Each command has a connection of its own."""

    @contextlib.contextmanager
    def _started(self, container: str, command: Sequence[str]) -> Iterator[Stream]:
        stream = self._cluster.execute(self.name, container, command)
        try:
            yield stream
        finally:
            stream.close()

    def _packing(self, container: str, path: str) -> list[str]:
        if container in self._own:
            return ["python3", "-I", "-S", "-c", _OWN_TAR, path]
        parent, name = posixpath.split(path.rstrip("/") or "/")
        return ["tar", "-c", "-f", "-", "-C", parent or "/", "--", name or "."]


class PodOutput:
    """The output of a command on both its streams, of which the end is kept."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self.said = stream, b""

    @property
    def is_over(self) -> bool:
        """Return whether nothing more comes."""
        return self._stream.is_over

    def more(self, deadline: float) -> bool:
        """Wait until a monotonic deadline for more; return whether there may be more still."""
        if deadline <= time.monotonic():
            return False
        _, data = self._stream.take(deadline)
        self.said = (self.said + data)[-OUTPUT_BYTES:]
        return not self.is_over


def _pieces(stream: Stream, output: PodOutput, deadline: float) -> Iterator[bytes]:
    """Yield what a command prints, and keep what it complains about."""
    while not stream.is_over:
        if time.monotonic() > deadline:
            raise PlatformFault("The export takes too long.", code="export_failed")
        channel, data = stream.take(deadline)
        if channel == OUTPUT and data:
            yield data
        else:
            output.said = (output.said + data)[-OUTPUT_BYTES:]
