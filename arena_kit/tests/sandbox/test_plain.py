"""Plain processes keep the promises of every sandbox but those that need Linux, and end what a player has started."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, cast

import pytest

from arena_kit.machine.loopback import VARIABLE, Door, connect
from arena_kit.sandbox.base import Launch, PlayerDidNotStart, Sandbox, SandboxError
from arena_kit.sandbox.channel import short_folder
from arena_kit.sandbox.choice import trial
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.plain import PlainSandbox
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.sandbox.scripts import ScriptLaunch, ScriptLimits
from arena_kit.sandbox.startup import interpreter
from arena_kit.tests.arenas import COUNTER, FIRST_VALID, Arena, ask, greet, leave, until
from arena_kit.tests.sandbox.test_sandbox_contract import (
    running,
    test_a_duel_is_played,
    test_a_missing_folder_is_the_platforms_fault,
    test_a_player_sees_nothing_of_the_referees_environment,
    test_a_player_that_ends_while_it_starts_is_reported_with_its_log,
    test_a_player_that_exits_in_a_match_has_ended,
    test_a_player_that_never_gets_ready_is_reported_after_the_time_to_start,
    test_a_player_that_spins_is_still_running_until_it_is_closed,
    test_closing_twice_is_harmless,
    test_prints_on_the_real_standard_output_never_reach_the_wire,
    test_the_player_folder_is_its_working_folder_and_its_files_are_there,
    test_what_a_player_prints_is_kept_to_its_limit_from_both_ends,
)

__all__ = [
    "test_a_duel_is_played",
    "test_a_missing_folder_is_the_platforms_fault",
    "test_a_player_sees_nothing_of_the_referees_environment",
    "test_a_player_that_ends_while_it_starts_is_reported_with_its_log",
    "test_a_player_that_exits_in_a_match_has_ended",
    "test_a_player_that_never_gets_ready_is_reported_after_the_time_to_start",
    "test_a_player_that_spins_is_still_running_until_it_is_closed",
    "test_closing_twice_is_harmless",
    "test_prints_on_the_real_standard_output_never_reach_the_wire",
    "test_the_player_folder_is_its_working_folder_and_its_files_are_there",
    "test_what_a_player_prints_is_kept_to_its_limit_from_both_ends",
]


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    channels = tmp_path / "c"
    channels.mkdir(mode=0o711)
    yield Arena(PlainSandbox(channels), tmp_path, channels)
    assert list(channels.iterdir()) == []


def test_closing_ends_the_processes_that_a_player_has_started(arena: Arena) -> None:
    word = f"86400.{os.getpid()}{next(COUNTER)}"
    container = arena.launch(FIRST_VALID + f"\nimport subprocess\nsubprocess.Popen(['sleep', '{word}'])\n")
    assert until(lambda: running(word) != [])
    container.close()
    assert until(lambda: running(word) == [])


@pytest.mark.parametrize("answer", ["valid_actions[0]", "__import__('os')._exit(3)"])
def test_what_a_player_has_started_in_a_session_of_its_own_ends_after_it(arena: Arena, answer: str) -> None:
    word = f"86400.{os.getpid()}{next(COUNTER)}"
    source = FIRST_VALID.replace("valid_actions[0]", answer)
    apart = f"\nimport subprocess\nsubprocess.Popen(['sleep', '{word}'], start_new_session=True)\n"
    container = arena.launch(source + apart)
    assert until(lambda: running(word) != [])
    ask(container)
    container.close()
    assert until(lambda: running(word) == [])


def test_a_player_has_processes_that_begin_anew_as_on_macos_and_windows(arena: Arena) -> None:
    pool = "import multiprocessing\n        with multiprocessing.get_context('spawn').Pool(1) as pool:\n            "
    container = arena.launch(FIRST_VALID.replace('print("made")', f"{pool}print('found', pool.map(abs, [-7]))"))
    answers = greet(container)
    assert "found [7]" in leave(container)
    assert answers != []


def test_a_player_that_floods_costs_no_more_memory_than_its_log_and_is_ended(arena: Arena) -> None:
    endless = "import sys\nwhile True:\n    sys.stdout.write('x' * 65536)\n"
    refusal = arena.not_started(endless, start_seconds=1.0)
    assert refusal.ending is Ending.RUNNING
    assert "bytes cut" in refusal.log
    assert len(refusal.log) < 5000


def script(arena: Arena, source: str, seconds: float = 60.0) -> ScriptLaunch:
    folder = arena.folder / f"script-{next(COUNTER)}"
    folder.mkdir()
    (folder / "submission.py").write_text(source)
    limits = replace(ScriptLimits(), seconds=seconds)
    return ScriptLaunch(f"folder:{folder}", f"arena-plain-{next(COUNTER)}", "CartPole-v1", limits, {})


def test_a_script_runs_in_a_copy_of_its_folder_and_what_it_prints_is_kept(arena: Arena) -> None:
    launch = script(arena, "import sys\nopen('made', 'w').close()\nprint('for', sys.argv[1])\nsys.exit(3)\n")
    end = arena.sandbox.run_to_end(launch, lambda _: None)
    assert (end.ending, end.exit_status, end.log) == (Ending.EXITED, 3, "for CartPole-v1\n")
    assert not (Path(launch.image.removeprefix("folder:")) / "made").exists()


def test_a_script_is_ended_after_its_time_with_what_it_has_printed(arena: Arena) -> None:
    launch = script(arena, "import time\nprint('begun', flush=True)\ntime.sleep(600)\n", seconds=2.0)
    seen: list[str] = []
    end = arena.sandbox.run_to_end(launch, seen.append)
    assert (end.ending, end.exit_status, end.log) == (Ending.TIMED_OUT, None, "begun\n")
    assert seen[-1] == "begun\n"


def test_only_the_process_with_the_token_is_let_in() -> None:
    door = Door()
    port = int(door.variables[VARIABLE].split()[0])
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(b"0" * 32)
        looks = iter([True, False])
        assert door.accept(time.monotonic() + 10, lambda: next(looks)) is None
        assert stranger.recv(1) == b""
    door.close()


def test_strangers_who_say_nothing_hold_up_no_player(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may be of the other player of the duel, which would win by that."""
    monkeypatch.setattr("arena_kit.machine.loopback.MOST_WAITING", 4)
    with contextlib.closing(Door()) as door, contextlib.ExitStack() as open_ones:
        for name, value in door.variables.items():
            monkeypatch.setenv(name, value)
        address = ("127.0.0.1", int(door.variables[VARIABLE].split()[0]))
        strangers = [open_ones.enter_context(socket.create_connection(address)) for _ in range(9)]
        right = open_ones.enter_context(connect())
        wire = door.accept(time.monotonic() + 4, lambda: True)
        assert wire is not None
        with wire:
            right.sendall(b"x")
            assert wire.recv(1) == b"x"
        assert [stranger.recv(1) for stranger in strangers] == [b""] * 9


class Unreachable:
    """An engine in another machine: it answers, and its containers never connect."""

    name = "docker"

    def check(self) -> None:
        pass

    def launch(self, launch: Launch) -> NoReturn:
        raise PlayerDidNotStart("It was not ready within 15 s.", log="", ending=Ending.RUNNING)


def test_an_engine_that_answers_and_starts_no_player_is_found_out_by_a_trial(arena: Arena) -> None:
    with pytest.raises(SandboxError, match="not ready") as refused:
        trial(cast(Sandbox, Unreachable()))
    assert refused.value.code == "container_failed"
    trial(arena.sandbox)


def test_a_channel_whose_path_is_too_long_gets_a_short_folder(tmp_path: Path) -> None:
    assert short_folder(Path("/tmp/rl-arena")) == Path("/tmp/rl-arena")
    long = tmp_path / ("x" * 80)
    sandbox = ProcessSandbox(long)
    container = Arena(sandbox, tmp_path, long).launch(FIRST_VALID)
    assert greet(container) != []
    container.close()
    assert not long.exists()


def test_players_find_what_pip_installed_for_this_user_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as base:
        packages = Path(base, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
        packages.mkdir(parents=True)
        monkeypatch.setattr("site.ENABLE_USER_SITE", True)
        monkeypatch.setattr("site.getusersitepackages", lambda: str(packages))
        monkeypatch.setattr("site.getuserbase", lambda: base)
        monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/module/lib")
        command, variables = interpreter()
    assert "-s" not in command
    assert variables == {"LD_LIBRARY_PATH": "/opt/module/lib", "PYTHONUSERBASE": base}
    monkeypatch.setattr("site.ENABLE_USER_SITE", False)
    assert "-s" in interpreter()[0]
