"""Lots: duels and evaluations of submissions whose containers share a pod with the referee."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterator

import pytest
from django.conf import settings

from arena_kit.environment.episodes import evaluation_sha256
from arena_kit.environment.records import Outcome, record_sha256
from arena_kit.environment.registry import get_spec
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.lot import EvaluationPart
from arena_kit.referee.output import MARK
from arena_kit.referee.part import Failed, PlayedPart
from arena_kit.referee.play import PlayedDuel, PlayedEvaluation, run_duel, run_evaluation
from arena_kit.sandbox.base import Container, Launch
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.tests.arenas import FIRST_VALID, Arena
from arena_kit.tests.pods import LIMITS, Pod, duel

pytestmark = pytest.mark.docker

LAST_VALID = FIRST_VALID.replace("[0]", "[-1]")
MIDDLE = FIRST_VALID.replace("valid_actions[0]", "valid_actions[len(valid_actions) // 2]")
NAMES = itertools.count(1)
HOLES = """
import os, socket, threading
def tried(name, action):
    try:
        action()
    except OSError as error:
        print(name, "refused", flush=True)
    else:
        print(name, "ALLOWED", flush=True)
class Player:
    def __init__(self, train_mode):
        tried("inet", lambda: socket.socket(socket.AF_INET))
        tried("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
        tried("unix", lambda: socket.socket(socket.AF_UNIX))
        tried("datagrams", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
        tried("shared memory", lambda: open("/dev/shm/x", "w"))
        tried("message queue", lambda: open("/dev/mqueue/x", "w"))
        tried("channel", lambda: open("/channel/x", "w"))
        tried("pair", lambda: socket.socketpair())
        threading.Thread(target=print, args=("thread runs",)).start()
    def start(self, state, valid_actions):
        return valid_actions[0]
    def step(self, state, valid_actions, prev_reward):
        return valid_actions[0]
    def end(self, state, prev_reward):
        pass
"""


@pytest.fixture
def pods() -> Iterator[list[Pod]]:
    made: list[Pod] = []
    yield made
    for pod in made:
        pod.close()


def unmarked(log: str) -> list[str]:
    """Return the lines of a player's log without those that name the match and the move."""
    return [line for line in log.splitlines() if not MARK.fullmatch(line)]


def played(part: PlayedPart) -> PlayedDuel:
    assert isinstance(part.result, PlayedDuel), part.result
    return part.result


@pytest.mark.parametrize("other", ["process", pytest.param("docker", marks=pytest.mark.nightly)])
def test_a_block_gives_the_records_of_another_sandbox_and_players_have_no_way_to_each_other(
    pods: list[Pod], docker_arena: Arena, other: str
) -> None:
    arena = docker_arena
    if other == "process":
        arena.sandbox = ProcessSandbox(arena.channels)
    sources = [FIRST_VALID, LAST_VALID, MIDDLE, HOLES]
    pods.append(Pod(settings.PLAYER_BASE_IMAGE, sources))
    parts = [duel(number, pair) for number, pair in enumerate(itertools.combinations(range(3), 2), start=1)]
    found = pods[0].play(*parts, duel(4, (3, 0), matches=2))
    launches = [arena.prepare(source, limits=LIMITS) for source in sources]

    def launch(player: int) -> Container:
        first = launches[player]
        name = f"arena-pods-{os.getpid()}-{next(NAMES)}"
        return arena.sandbox.launch(Launch(first.image, name, LIMITS, first.labels))

    for part in parts:
        alone = run_duel(
            get_spec(part.environment),
            lambda seat, part=part: launch(part.players[seat]),  # type: ignore[misc]
            names=part.names,
            seed=part.seed,
            match_count=part.match_count,
            parallel_matches=part.parallel_matches,
            limits=LIMITS,
            clock=time.monotonic,
        )
        in_the_pod = played(found[part.id])
        assert record_sha256(in_the_pod.record) == record_sha256(alone.record)
        assert in_the_pod.record.distinct_matches == alone.record.distinct_matches
        # Which match's object is made first, and how many lines a log has by the end, depends on how fast answers come.
        assert [{*unmarked(log)} for log in in_the_pod.player_logs] == [{*unmarked(log)} for log in alone.player_logs]
        assert "made" in alone.player_logs[0]
        assert found[part.id].lost == ()
    log = played(found["duel-4"]).player_logs[0]
    refused = ("inet", "netlink", "unix", "datagrams", "shared memory", "message queue", "channel")
    assert {line for line in log.splitlines() if "refused" in line} == {f"{name} refused" for name in refused}
    assert {line for line in log.splitlines() if "ALLOWED" in line} == {"pair ALLOWED"}
    assert "thread runs" in log


@pytest.mark.nightly
def test_an_evaluation_gives_the_record_of_the_docker_sandbox(pods: list[Pod], docker_arena: Arena) -> None:
    pods.append(Pod(settings.PLAYER_BASE_IMAGE, [FIRST_VALID]))
    spec = get_spec("frozen-lake-v1")
    part = EvaluationPart("evaluation-1", spec.id, 0, "player", (1, 2, 3, 4), (3, 1, 0, 2), 2, LIMITS)
    result = pods[0].play(part)[part.id].result
    assert isinstance(result, PlayedEvaluation)
    alone = run_evaluation(
        spec,
        lambda: docker_arena.launch(FIRST_VALID, limits=LIMITS),
        name="player",
        seeds=part.seeds,
        order=part.order,
        parallel_episodes=2,
        limits=LIMITS,
        clock=time.monotonic,
    )
    assert evaluation_sha256(result.record) == evaluation_sha256(alone.record)
    assert result.failure is None


@pytest.mark.nightly
def test_a_player_that_dies_begins_anew_in_its_container(pods: list[Pod]) -> None:
    dies = FIRST_VALID.replace("    def step", "    def step(self, *_):\n        import os; os._exit(7)\n    def later")
    pods.append(Pod(settings.PLAYER_BASE_IMAGE, [dies, FIRST_VALID, FIRST_VALID]))
    part = pods[0].play(duel(matches=6))["duel-1"]
    record = played(part).record
    codes = {match.error_code for match in record.matches}
    assert codes == {PlayerFault.DIED, PlayerFault.TOO_MANY_RESTARTS}
    assert record.summary.outcome is Outcome.PLAYER_2
    assert part.lost == ()
    # The others play on.
    assert played(pods[0].play(duel(2, (1, 2), matches=2))["duel-2"]).record.summary.errors == (0, 0)


@pytest.mark.nightly
def test_memory_is_the_players_fault_without_the_loss_of_its_container(pods: list[Pod]) -> None:
    grows = FIRST_VALID.replace(
        "    def step",
        "    def step(self, *_):\n        self.all = [b'x' * (1 << 20) for _ in range(400)]\n    def later",
    )
    pods.append(Pod(settings.PLAYER_BASE_IMAGE, [FIRST_VALID, grows]))
    part = pods[0].play(duel(matches=2, max_restarts=0))["duel-1"]
    match = played(part).record.matches[0]
    assert (match.error_code, match.faulty_player) == (PlayerFault.OUT_OF_MEMORY, 1)


@pytest.mark.nightly
def test_a_lost_container_is_told_with_the_result(pods: list[Pod]) -> None:
    slow = FIRST_VALID.replace("        return", "        import time; time.sleep(0.2)\n        return")
    pods.append(Pod(settings.PLAYER_BASE_IMAGE, [FIRST_VALID, slow]))
    threading.Timer(3.0, pods[0].containers[1].kill).start()
    part = pods[0].play(duel(matches=200))["duel-1"]
    assert part.lost == (1,)
    assert played(part).record.matches[-1].faulty_player == 1


@pytest.mark.nightly
def test_a_player_that_does_not_start_is_told_with_its_log(pods: list[Pod]) -> None:
    pods.append(Pod(settings.PLAYER_BASE_IMAGE, ["raise RuntimeError('no weights')", FIRST_VALID]))
    result = played(pods[0].play(duel(matches=2))["duel-1"])
    assert result.record.matches[0].error_code == PlayerFault.DID_NOT_START
    assert "no weights" in result.player_logs[0]


@pytest.mark.nightly
def test_an_environment_that_the_image_lacks_is_the_platforms_fault(pods: list[Pod]) -> None:
    pods.append(Pod(settings.PLAYER_BASE_IMAGE, [FIRST_VALID, FIRST_VALID]))
    unknown = duel()
    object.__setattr__(unknown, "environment", "chess-v9")
    result = pods[0].play(unknown)["duel-1"].result
    assert isinstance(result, Failed)
    assert result.code == "rules_missing"
