"""The protocol between a rollout and its agent, and the two agents that need no upload: a script, and one that does
nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from arena_kit.rollout.values.actions import ANSWER, Action

if TYPE_CHECKING:
    # Only sites have the cluster.
    from arena_kit.cluster.manifest import PodPlayerSpec
from arena_kit.rollout.worlds.world import World


class AgentFault(Exception):
    """The agent has broken: it raised, died, flooded or sent what is not an answer. The message is a sentence.

    code: typed reason, as of players.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class AgentLate(Exception):
    """The agent's own time is used up, or the rollout's."""


def never() -> bool:
    """Say that the rollout goes on."""
    return False


class Agent(Protocol):
    """Chooses actions. is_scripted: whether it names elements by selectors. wants_pictures: whether it sees PNGs.

    memory_bytes: of its container, reserved with the world. pod_player: its container, where the world is a pod.
    """

    is_scripted: bool
    wants_pictures: bool
    memory_bytes: int
    pod_player: PodPlayerSpec | None

    def enter(self, world: World) -> None:
        """Take note of the world in which its own container is, where it is one of the world's."""

    def choose(
        self, state: Mapping[str, Any], picture: bytes | None, *, seconds: float, is_over: Callable[[], bool] = never
    ) -> Any:
        """Return an action, which is read and checked by the rollout.

        seconds: what is left of its own time, without that in which it waits for a model. is_over: whether the rollout
        ends for another reason, asked at least once a second. Raises AgentFault, AgentLate in both cases, and
        SandboxError for a fault of the platform.
        """

    def end(self, state: Mapping[str, Any], reward: float) -> None:
        """Hear that the rollout is over."""

    def close(self) -> None:
        """End, and leave nothing behind. May be called twice."""


class ScriptedAgent:
    """Plays a list of actions, as oracles, demonstrations and replays do. After the last one it answers with null."""

    is_scripted = True
    memory_bytes = 0
    pod_player: PodPlayerSpec | None = None

    def __init__(self, actions: Sequence[Action], *, wants_pictures: bool = False) -> None:
        """actions: read and found good. wants_pictures: for people, who see them beside its steps."""
        self._left, self.wants_pictures = list(actions), wants_pictures

    def enter(self, world: World) -> None:
        """See Agent."""

    def choose(
        self, state: Mapping[str, Any], picture: bytes | None, *, seconds: float, is_over: Callable[[], bool] = never
    ) -> Any:
        """See Agent."""
        return self._left.pop(0).as_json() if self._left else {"action": ANSWER, "value": None}

    def end(self, state: Mapping[str, Any], reward: float) -> None:
        """See Agent."""

    def close(self) -> None:
        """See Agent."""


def null_script(*, wants_pictures: bool = False) -> ScriptedAgent:
    """Return the agent that answers at once with nothing."""
    return ScriptedAgent([], wants_pictures=wants_pictures)
