"""A player is not at fault for what is done to its container from outside."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import Limits
from arena_kit.referee.duel import POLL_SECONDS
from arena_kit.referee.play import PlayedDuel, run_duel, run_evaluation
from arena_kit.sandbox.base import Container, PlayerDidNotStart, SandboxError
from arena_kit.tests.arenas import FIRST_VALID, LABEL, LIMITS, SPEC, Arena

pytestmark = pytest.mark.docker
SLOW = FIRST_VALID.replace("        return valid", "        import time; time.sleep(0.05)\n        return valid")
BRISK = SLOW.replace("0.05", "0.005")
QUICK_LIMITS = replace(LIMITS, move_seconds=1.0, bank_seconds=1.0)
Harm = Callable[[Any], None]


@pytest.fixture
def engine() -> Iterator[docker.DockerClient]:
    client = docker.from_env(timeout=60)
    yield client
    client.close()


def kill(container: Any) -> None:
    container.kill()


def pause(container: Any) -> None:
    container.pause()


def harmed_duel(arena: Arena, engine: docker.DockerClient, harm: Harm, limits: Limits = QUICK_LIMITS) -> PlayedDuel:
    """Play a duel in which something happens to a player's container after the first match."""
    done: list[int] = []

    def on_progress(matches_done: int) -> None:
        if matches_done and not done:
            done.append(matches_done)
            harm(engine.containers.list(filters={"label": f"{LABEL}=now"})[0])

    return run_duel(
        SPEC,
        lambda _: arena.launch(SLOW, limits=limits),
        names=("one", "two"),
        seed=1,
        match_count=20,
        parallel_matches=2,
        limits=limits,
        clock=time.monotonic,
        on_progress=on_progress,
    )


@pytest.mark.parametrize(
    ("harm", "code"),
    [(kill, "container_killed"), pytest.param(pause, "container_paused", marks=pytest.mark.nightly)],
)
def test_a_duel_whose_container_is_harmed_counts_for_neither_player(
    docker_arena: Arena, engine: docker.DockerClient, harm: Harm, code: str
) -> None:
    with pytest.raises(SandboxError) as fault:
        harmed_duel(docker_arena, engine, harm)
    assert fault.value.code == code
    assert engine.containers.list(all=True, filters={"label": f"{LABEL}=now"}) == []
    assert list(docker_arena.channels.iterdir()) == []


@pytest.mark.parametrize(
    ("harm", "code"),
    [(kill, "container_killed"), pytest.param(pause, "container_paused", marks=pytest.mark.nightly)],
)
def test_an_evaluation_whose_container_is_harmed_is_no_failure_of_its_player(
    docker_arena: Arena, engine: docker.DockerClient, harm: Harm, code: str
) -> None:
    def on_episode(_: object) -> None:
        harm(engine.containers.list(filters={"label": f"{LABEL}=now"})[0])

    with pytest.raises(SandboxError) as fault:
        run_evaluation(
            get_spec("frozen-lake-deterministic"),
            lambda: docker_arena.launch(BRISK, limits=QUICK_LIMITS),
            name="one",
            seeds=list(range(20)),
            parallel_episodes=1,
            limits=QUICK_LIMITS,
            clock=time.monotonic,
            on_episode=on_episode,
        )
    assert fault.value.code == code


@pytest.mark.nightly
def test_a_pause_that_leaves_time_for_the_move_changes_nothing(
    docker_arena: Arena, engine: docker.DockerClient
) -> None:
    def pause_shortly(container: Any) -> None:
        container.pause()
        threading.Timer(POLL_SECONDS / 2, container.unpause).start()

    patient = replace(LIMITS, move_seconds=20.0, bank_seconds=20.0)
    duel = harmed_duel(docker_arena, engine, pause_shortly, patient)
    assert duel.record.summary.errors == (0, 0)


def test_a_container_that_is_killed_while_it_loads_is_not_taken_for_a_player_that_failed(
    docker_arena: Arena, engine: docker.DockerClient
) -> None:
    def kill_soon() -> None:
        while not (found := engine.containers.list(filters={"label": f"{LABEL}=now"})):
            time.sleep(0.05)
        found[0].kill()

    killer = threading.Thread(target=kill_soon)
    killer.start()
    with pytest.raises(SandboxError) as fault:
        docker_arena.launch("import time; time.sleep(60)\n" + FIRST_VALID)
    killer.join()
    assert fault.value.code in {"container_killed", "container_failed"}


def test_for_want_of_memory_the_player_goes_and_its_supervisor_says_so(docker_arena: Arena) -> None:
    hungry = "held = []\nwhile True: held.append(bytearray(8 << 20))\n"
    with pytest.raises(PlayerDidNotStart) as caught:
        docker_arena.launch(hungry + FIRST_VALID, limits=replace(LIMITS, memory_limit_bytes=128 << 20))
    assert caught.value.ending.value == "out_of_memory"


def test_the_supervisor_is_ended_after_everything_else(docker_arena: Arena, engine: docker.DockerClient) -> None:
    container: Container = docker_arena.launch(FIRST_VALID)
    try:
        processes = engine.containers.list(filters={"label": f"{LABEL}=now"})[0].top()["Processes"]
        scores = []
        for row in processes:
            # A process that has only started the next one ends about now.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                scores.append(int(Path(f"/proc/{row[1]}/oom_score_adj").read_text()))
        first = engine.containers.list(filters={"label": f"{LABEL}=now"})[0].attrs["State"]["Pid"]
        supervisor = int(Path(f"/proc/{first}/oom_score_adj").read_text())
    finally:
        container.close()
    assert min(scores) == supervisor < 1000
    assert [score for score in scores if score == supervisor] == [supervisor]
