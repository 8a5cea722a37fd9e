"""A sandbox with players, for tests of the interface that every sandbox implements."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import Limits
from arena_kit.referee.match import Match
from arena_kit.referee.wire import Answer, Decoder, Encoder, hello
from arena_kit.sandbox.base import Container, Host, Launch, PlayerDidNotStart, Sandbox
from arena_kit.sandbox.docker_box import DockerBox
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.host import PlayerHost
from arena_kit.sandbox.process import ProcessBox

SPEC = get_spec("tic-tac-toe-v1")
LIMITS = Limits(memory_limit_bytes=512 << 20, start_seconds=60.0, log_limit_bytes=4000)
LABEL = f"arena.contract.{os.getpid()}"
"""A value of its own for each run of the tests, so that a run does not reap the players of another."""
COUNTER = itertools.count(1)
FIRST_VALID = """
class Player:
    def __init__(self, train_mode):
        print("made")
    def start(self, state, valid_actions):
        return valid_actions[0]
    def step(self, state, valid_actions, prev_reward):
        return valid_actions[0]
    def end(self, state, prev_reward):
        pass
"""


@dataclass
class Arena:
    """A sandbox, and what is needed to start players in it."""

    sandbox: Sandbox
    folder: Path
    channels: Path

    def prepare(self, source: str, *, limits: Limits = LIMITS, claim: str = "now", image: str = "") -> Launch:
        """Return the launch of a player with this source, or with the image of an earlier launch."""
        number = next(COUNTER)
        if not image:
            player = self.folder / f"player-{number}"
            player.mkdir(mode=0o755)
            (player / "player.py").write_text(source)
            image = f"folder:{player}"
        return Launch(image, f"arena-contract-{os.getpid()}-{number}", limits, {LABEL: claim})

    def launch(self, source: str, *, limits: Limits = LIMITS, claim: str = "now") -> Container:
        return self.sandbox.launch(self.prepare(source, limits=limits, claim=claim))

    def start(self, source: str) -> Host:
        return self.sandbox.start(self.prepare(source))

    def not_started(self, source: str, **limits: float) -> PlayerDidNotStart:
        with pytest.raises(PlayerDidNotStart) as caught:
            self.launch(source, limits=replace(LIMITS, **limits))  # type: ignore[arg-type]
        assert list(self.channels.iterdir()) == []
        return caught.value


def first_question() -> bytes:
    """Return the START of match 1, on an empty board."""
    encoder = Encoder(SPEC.observation, SPEC.action_count)
    match = Match(SPEC, encoder, number=1, seed=1, seats=(0, 1), bank=1.0)
    return encoder.questions(match.start())


def ask(container: Container) -> None:
    """Do the handshake and ask for the first move of match 1."""
    container.wire.settimeout(20)
    container.wire.sendall(
        hello(environment=SPEC.id, observation=SPEC.observation, action_count=SPEC.action_count, parallel_matches=4)
        + first_question()
    )


def greet(container: Container) -> list[Answer]:
    """Ask for a move; return the answers that came before the wire closed."""
    ask(container)
    decoder, answers = Decoder(), []
    while data := container.wire.recv(65536):
        answers += [answer for answer in decoder.feed(data) if isinstance(answer, Answer)]
        if answers:
            break
    return answers


def leave(container: Container) -> str:
    """Hang up, let the player end by itself, and return its log."""
    container.wire.close()
    assert until(lambda: container.ending() is Ending.EXITED)
    log = container.log()
    container.close()
    return log


def loader_of(host: Host) -> tuple[int, str]:
    """Return the pid, on this machine, of the process that loaded a container's player, and its state as in proc(5)."""
    assert isinstance(host, PlayerHost)
    if isinstance(host.box, DockerBox):
        pid = int(host.box._state()["Pid"])
    else:
        assert isinstance(host.box, ProcessBox)
        pid = host.box._process.pid
    while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        (child,) = children
        pid = int(child)
    return pid, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def until(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Wait until a condition holds that another process brings about."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
