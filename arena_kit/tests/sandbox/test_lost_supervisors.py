"""What happens to its supervisor is the fault of a player or script, unless the engine says otherwise."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena_kit.environment.records import Outcome
from arena_kit.referee.play import run_duel
from arena_kit.referee.script import ScriptFault
from arena_kit.sandbox import docker
from arena_kit.sandbox.outside import REMEMBERED_EVENTS, moment, tell_of_outside
from arena_kit.tests.arenas import FIRST_VALID, LIMITS, SPEC, Arena
from arena_kit.tests.scripts import Scripts

MUTINY = """
import os, resource, signal, time
def end_the_supervisor():
    if os.fork() == 0:
        resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))
        # Ended children make it use the second that it has left.
        while True:
            os.kill(1, signal.SIGCHLD)
    time.sleep(30)
"""
LOSER = MUTINY + FIRST_VALID.replace("        return valid", "        end_the_supervisor()\n        return valid", 1)
ID = "c0ffee"


@pytest.fixture
def open_wall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a list of kernel calls that lets a player limit other processes, as the arena's once did."""
    profile = json.loads(docker.SECCOMP_PROFILE.read_text())
    profile["syscalls"].append({"names": ["prlimit64"], "action": "SCMP_ACT_ALLOW"})
    path = tmp_path / "seccomp.json"
    path.write_text(json.dumps(profile))
    monkeypatch.setattr(docker, "SECCOMP_PROFILE", path)


@pytest.mark.docker
def test_a_player_that_ends_its_supervisor_loses_its_matches(docker_arena: Arena, open_wall: None) -> None:
    sources = (LOSER, FIRST_VALID)

    duel = run_duel(
        SPEC,
        lambda player: docker_arena.launch(sources[player]),
        names=("loser", "winner"),
        seed=1,
        match_count=2,
        parallel_matches=2,
        limits=replace(LIMITS, max_restarts=0),
        clock=time.monotonic,
    )

    assert {match.outcome for match in duel.record.matches} == {Outcome.PLAYER_2}
    assert {match.faulty_player for match in duel.record.matches} == {0}


@pytest.mark.docker
def test_a_script_that_ends_its_supervisor_has_failed(docker_arena: Arena, open_wall: None) -> None:
    failure = Scripts(docker_arena).failure(MUTINY + "print('so far', flush=True)\nend_the_supervisor()\n")

    assert failure.code is ScriptFault.KILLED


def event(action: str, container: str = ID, **attributes: str) -> dict[str, Any]:
    return {"Action": action, "Actor": {"ID": container, "Attributes": attributes}}


START = event("start")
FLOOD = [event("oom", "another")] * REMEMBERED_EVENTS


@pytest.mark.parametrize(
    ("events", "is_outside"),
    [
        ([START, event("die", exitCode="137")], False),
        ([START, event("oom"), event("die", exitCode="137")], False),
        ([START, event("kill", signal="9"), event("die", exitCode="137")], True),
        ([START, event("kill", signal="SIGKILL")], True),
        ([START, event("kill", signal="15"), event("die", exitCode="137")], False),
        ([START, event("kill", "another", signal="9")], False),
        ([], True),
        ([event("start", "another")], True),
        (FLOOD, False),
        ([*FLOOD[1:], event("kill", signal="9")], True),
    ],
    ids=["died", "memory", "killed", "by name", "politely", "another", "restarted", "busy", "flood", "late"],
)
def test_the_engine_tells_what_was_done_from_outside(events: list[dict[str, Any]], is_outside: bool) -> None:
    assert tell_of_outside(events, ID) is is_outside


@pytest.mark.parametrize(
    "text",
    ["2026-11-22T18:01:09.123456789Z", "2026-11-22T18:01:09.123456Z", "2026-11-22T19:01:09.123456789+01:00"],
)
def test_moments_of_the_engine_are_read(text: str) -> None:
    assert moment(text).isoformat(timespec="microseconds")[14:] in {"01:09.123456+00:00", "01:09.123456+01:00"}
    assert moment(text).timestamp() == pytest.approx(1795370469.123456)


def test_a_moment_without_a_fraction_is_read() -> None:
    assert moment("2026-11-22T18:01:09Z").timestamp() == 1795370469.0
