"""A player in a container as the agent of a rollout: `player.py` with the class Player, as everywhere in the arena.

Questions are JSON with the picture behind it, and answers are JSON (docs/reference/protocol.md). Only one question is
open at a time.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from arena_kit.frames import BadFrame, Splitter, pack, pack_data
from arena_kit.referee.faults import PlayerFault, first_line, sentence
from arena_kit.referee.wire import MAX_ANSWER_BYTES, VERSION, Kind
from arena_kit.rollout.agents.agent import AgentFault, AgentLate, never
from arena_kit.rollout.agents.meter import Meter
from arena_kit.rollout.values.actions import ACTIONS
from arena_kit.rollout.worlds.world import World
from arena_kit.sandbox.base import Container, PlayerDidNotStart
from arena_kit.sandbox.ending import Ending
from arena_kit.text import plain_text

if TYPE_CHECKING:
    # Only sites have the cluster.
    from arena_kit.cluster.manifest import PodPlayerSpec

JSON_QUESTION = 6
HANDSHAKE_SECONDS, END_SECONDS, LOOK_SECONDS = 10.0, 5.0, 0.25
_QUESTION, _MATCH = struct.Struct("<IIBdII"), struct.Struct("<II")
_MATCH_NUMBER = 1


class PlayerAgent:
    """The player is started with the first question, in the time that its limits give it."""

    is_scripted = False

    def __init__(
        self,
        launch: Callable[[World | None], Container],
        meter: Meter,
        *,
        environment: str,
        wants_pictures: bool = True,
        prompt: str = "",
        memory_bytes: int = 0,
        pod_player: PodPlayerSpec | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """launch: starts the container, in a world that has it. environment: the slug of the package.

        wants_pictures: whether to send PNGs. prompt: words for a model, which the player may use. memory_bytes: of its
        container, reserved with the world. pod_player: its container, where that is one of the world's pod.
        """
        self.wants_pictures = wants_pictures
        self._launch, self._meter, self._environment = launch, meter, environment
        self._clock, self._prompt, self.memory_bytes = clock, prompt, memory_bytes
        self.pod_player = pod_player
        self._container: Container | None = None
        self._world: World | None = None
        self._arrived, self._sequence, self._is_broken = Splitter(MAX_ANSWER_BYTES), 0, False
        self.log = ""

    def enter(self, world: World) -> None:
        """See Agent."""
        self._world = world

    def choose(
        self, state: Mapping[str, Any], picture: bytes | None, *, seconds: float, is_over: Callable[[], bool] = never
    ) -> Any:
        """See Agent."""
        if self._container is None:
            self._open()
        kind = Kind.STEP if self._sequence else Kind.START
        payload = self._asked(kind, state, picture, 0.0, seconds, is_over)
        self._sequence += 1
        try:
            return json.loads(payload)
        except (ValueError, RecursionError):
            raise self._fault(PlayerFault.BAD_ACTION, "It is not JSON.") from None

    def end(self, state: Mapping[str, Any], reward: float) -> None:
        """See Agent."""
        if self._container is None or self._is_broken or not self._sequence:
            return
        try:
            self._asked(Kind.END, state, None, reward, END_SECONDS)
        except (AgentFault, AgentLate):
            self._is_broken = True

    def close(self) -> None:
        """See Agent."""
        if (container := self._container) is not None:
            self._container = None
            container.close()
            self.log += container.log()

    def _open(self) -> None:
        """Start the player and do the handshake. Raises AgentFault and SandboxError."""
        try:
            self._container = self._launch(self._world)
        except PlayerDidNotStart as error:
            self.log = error.log
            raise AgentFault(sentence(PlayerFault.DID_NOT_START, str(error)), code=PlayerFault.DID_NOT_START) from None
        hello = {
            "protocol": VERSION,
            "environment": self._environment,
            "observation": {"form": "json"},
            "actions": {"form": "json", "names": list(ACTIONS)},
            "parallel_matches": 1,
        }
        try:
            kind, _ = self._exchange(pack_data(Kind.HELLO, hello), HANDSHAKE_SECONDS)
        except AgentLate:
            raise self._fault(PlayerFault.DID_NOT_START, "It did not answer the handshake in time.") from None
        if kind != Kind.READY:
            raise self._fault(PlayerFault.UNEXPECTED_ANSWER)

    def _asked(
        self,
        kind: Kind,
        state: Mapping[str, Any],
        picture: bytes | None,
        reward: float,
        seconds: float,
        is_over: Callable[[], bool] = never,
    ) -> bytes:
        """Return the answer to a question, without its head. Raises AgentFault and AgentLate."""
        text = json.dumps({**state, "prompt": self._prompt}).encode()
        attached = picture or b""
        head = _QUESTION.pack(_MATCH_NUMBER, self._sequence, kind, reward, len(text), len(attached))
        answered, payload = self._exchange(pack(JSON_QUESTION, head + text + attached), seconds, is_over)
        if len(payload) < _MATCH.size or _MATCH.unpack_from(payload) != (_MATCH_NUMBER, self._sequence):
            raise self._fault(PlayerFault.UNEXPECTED_ANSWER, "It does not belong to the open question.")
        payload = payload[_MATCH.size :]
        if answered == (Kind.DONE if kind is Kind.END else Kind.ACTION):
            return payload
        text_said = plain_text(payload.decode("utf-8", "replace"))
        self.log += text_said + "\n"
        if answered == Kind.ERROR:
            raise self._fault(PlayerFault.RAISED, first_line(text_said))
        if answered == Kind.INVALID:
            raise self._fault(PlayerFault.BAD_ACTION, first_line(text_said))
        raise self._fault(PlayerFault.UNEXPECTED_ANSWER)

    def _exchange(self, frame: bytes, seconds: float, is_over: Callable[[], bool] = never) -> tuple[int, bytes]:
        """Send a frame and return kind and payload of the next one. Time in which a model is asked does not count."""
        assert self._container is not None
        wire, waited = self._container.wire, self._meter.waited_seconds
        begun, left = self._clock(), frame
        while True:
            used = self._clock() - begun - (self._meter.waited_seconds - waited)
            if used >= seconds or is_over():
                self._container.raise_if_paused()
                self._is_broken = True
                raise AgentLate
            if (answer := self._taken()) is not None:
                return answer
            try:
                wire.settimeout(LOOK_SECONDS)
                if left:
                    left = left[wire.send(left) :]
                    continue
                data = wire.recv(1 << 16)
            except TimeoutError:
                continue
            except OSError:
                data = b""
            if not data:
                raise self._died()
            self._arrived.feed(data)

    def _taken(self) -> tuple[int, bytes] | None:
        """Return the next whole frame of what has arrived. Raises AgentFault for one that is too large."""
        try:
            return self._arrived.take()
        except BadFrame:
            raise self._fault(PlayerFault.OVERSIZED_ANSWER) from None

    def _died(self) -> AgentFault:
        assert self._container is not None
        is_full = self._container.ending() is Ending.OUT_OF_MEMORY
        self._container.raise_if_paused()
        return self._fault(PlayerFault.OUT_OF_MEMORY if is_full else PlayerFault.DIED)

    def _fault(self, fault: PlayerFault, detail: str = "") -> AgentFault:
        self._is_broken = True
        return AgentFault(sentence(fault, detail), code=fault.value)
