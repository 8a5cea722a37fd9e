"""Every sandbox keeps the promises of the interface, with real players."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from arena_kit.referee.play import run_duel
from arena_kit.referee.wire import Kind
from arena_kit.sandbox.base import Launch, SandboxError
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.host import PlayerHost
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.tests.arenas import COUNTER, FIRST_VALID, LABEL, LIMITS, SPEC, Arena, ask, greet, leave, until


def running(word: str) -> list[str]:
    """Return the command lines on this host, including those in containers, that contain a word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if word in line and str(os.getpid()) != path.parent.name:
            found.append(line)
    return found


def test_a_duel_is_played(arena: Arena) -> None:
    arena.sandbox.check()
    duel = run_duel(
        SPEC,
        lambda _: arena.launch(FIRST_VALID),
        names=("one", "two"),
        seed=1,
        match_count=20,
        parallel_matches=8,
        limits=LIMITS,
        clock=time.monotonic,
    )
    summary = duel.record.summary
    assert (summary.match_count, summary.errors, summary.wins) == (20, (0, 0), (10, 10))
    assert "made" in duel.player_logs[0]
    assert duel.log == ""
    assert list(arena.channels.iterdir()) == []


def test_what_a_player_prints_is_kept_to_its_limit_from_both_ends(arena: Arena) -> None:
    source = FIRST_VALID + "\nprint('the beginning')\nfor i in range(20000): print('noise', i)\nprint('the end')\n"
    container = arena.launch(source)
    answers = greet(container)
    log = leave(container)
    assert answers[0].kind is Kind.ACTION
    assert "the beginning" in log
    assert "the end" in log
    assert "bytes cut" in log
    assert len(log) <= LIMITS.log_limit_bytes + 256


@pytest.mark.containers_nightly
def test_prints_on_the_real_standard_output_never_reach_the_wire(arena: Arena) -> None:
    source = FIRST_VALID.replace(
        "        return valid_actions[0]\n    def step",
        "        import os, sys\n        os.write(1, b'raw bytes')\n        os.write(2, b'raw bytes')\n"
        "        sys.__stdout__.write('text')\n        return valid_actions[0]\n    def step",
    )
    container = arena.launch(source)
    answers = greet(container)
    assert [(answer.kind, answer.action) for answer in answers] == [(Kind.ACTION, 0)]
    assert "raw bytes" in leave(container)


def test_closing_ends_whatever_the_player_started_and_removes_its_folder(arena: Arena) -> None:
    word = f"86400.{os.getpid()}{next(COUNTER)}"
    source = FIRST_VALID + (
        f"\nimport os, subprocess\n"
        f"if os.fork() == 0:\n"
        f"    os.setsid()\n"
        f"    if os.fork() == 0:\n"
        f"        os.environ.clear()\n"
        f"        os.execvpe('sleep', ['sleep', '{word}'], {{'PATH': '/usr/bin:/bin'}})\n"
        f"    os._exit(0)\n"
    )
    container = arena.launch(source)
    assert until(lambda: running(word) != [])

    container.close()

    assert until(lambda: running(word) == [])
    assert list(arena.channels.iterdir()) == []


@pytest.mark.containers_nightly
def test_closing_twice_is_harmless(arena: Arena) -> None:
    container = arena.launch(FIRST_VALID)
    container.close()
    container.close()
    assert list(arena.channels.iterdir()) == []


@pytest.mark.containers_nightly
def test_a_player_that_exits_in_a_match_has_ended(arena: Arena) -> None:
    dying = FIRST_VALID.replace("return valid_actions[0]", "import os; print('bye', flush=True); os._exit(3)", 1)
    container = arena.launch(dying)
    assert greet(container) == []
    assert until(lambda: container.ending() is Ending.EXITED)
    assert "bye" in container.log()
    container.close()


def test_a_player_that_spins_is_still_running_until_it_is_closed(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_kit.sandbox.slots.EXIT_SECONDS", 1.0)
    spinning = FIRST_VALID.replace("return valid_actions[0]", "\n        while True: pass", 1)
    container = arena.launch(spinning)
    ask(container)
    assert container.ending() is Ending.RUNNING
    container.close()
    assert container.ending() is not Ending.RUNNING


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("print('loading'); import a_missing_module", "No module named 'a_missing_module'"),
        ("print('loading'); raise SystemExit(0)", "loading"),
        ("print('loading', flush=True); import os; os._exit(7)", "loading"),
        ("print('loading'); import os, signal; os.kill(os.getpid(), signal.SIGKILL)", ""),
        ("class Player:\n    def __init__(self, train_mode): 1 / 0", "ZeroDivisionError"),
        ("x = 1", "neither a class Player nor a class Agent"),
        ("x = 1", "create_agent(player_id)"),
        (
            "class Agent:\n    def __init__(self, one, two): ...\n    def act(self, obs): ...",
            "Agent takes 2 arguments",
        ),
    ],
)
@pytest.mark.containers_nightly
def test_a_player_that_ends_while_it_starts_is_reported_with_its_log(arena: Arena, source: str, said: str) -> None:
    refusal = arena.not_started(source)
    assert refusal.ending is not Ending.RUNNING
    assert said in refusal.log


@pytest.mark.containers_nightly
@pytest.mark.slow
def test_a_player_that_never_gets_ready_is_reported_after_the_time_to_start(arena: Arena) -> None:
    refusal = arena.not_started("print('x' * 5000, flush=True)\nimport time; time.sleep(600)", start_seconds=4.0)
    assert refusal.ending is Ending.RUNNING
    assert "not ready within 4 s" in str(refusal)
    assert "xxx" in refusal.log


@pytest.mark.containers_nightly
@pytest.mark.slow
def test_leftovers_are_reaped_by_their_label(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_kit.sandbox.slots.EXIT_SECONDS", 1.0)
    claims = [f"claim-{os.getpid()}-{next(COUNTER)}" for _ in range(2)]
    kept, left = (arena.launch(FIRST_VALID, claim=claim) for claim in claims)

    removed = arena.sandbox.reap(LABEL, lambda: frozenset({claims[0]}))

    assert removed >= 1
    left.wire.settimeout(20)
    assert left.wire.recv(1) == b""
    assert greet(kept)[0].kind is Kind.ACTION
    assert kept.ending() is Ending.RUNNING
    left.close()
    kept.close()


@pytest.mark.parametrize("arena", ["process"], indirect=True)
def test_players_of_another_arena_of_the_same_user_are_no_leftovers(arena: Arena, tmp_path: Path) -> None:
    player = arena.launch(FIRST_VALID)
    (tmp_path / "other").mkdir()
    ProcessSandbox(tmp_path / "other").reap(LABEL, frozenset)
    assert greet(player)[0].kind is Kind.ACTION
    player.close()


def test_what_a_dead_worker_has_left_is_reaped_when_its_players_have_ended_with_it(arena: Arena) -> None:
    host = arena.start(FIRST_VALID)
    assert isinstance(host, PlayerHost)
    # The kernel does this with everything that the worker had open.
    host._control.close()
    assert until(lambda: not host.box.is_alive())

    assert arena.sandbox.reap(LABEL, frozenset) >= 1

    assert list(arena.channels.iterdir()) == []
    host.close()


def test_a_missing_folder_is_the_platforms_fault(arena: Arena) -> None:
    with pytest.raises(SandboxError) as caught:
        arena.sandbox.launch(Launch(f"folder:{arena.folder}/nothing", "arena-none", LIMITS, {}))
    assert caught.value.code == "image_missing"
    assert list(arena.channels.iterdir()) == []


@pytest.mark.containers_nightly
def test_the_player_folder_is_its_working_folder_and_its_files_are_there(arena: Arena) -> None:
    source = "import os\nprint(sorted(os.listdir('.')), open('player.py').readline())\n" + FIRST_VALID
    container = arena.launch(source)
    assert "['player.py'] import os" in leave(container)


@pytest.mark.containers_nightly
@pytest.mark.usefixtures("namespaces")
def test_a_player_has_no_network(arena: Arena) -> None:
    source = FIRST_VALID + (
        "\nimport socket\n"
        "try:\n"
        "    socket.create_connection(('127.0.0.1', 22), timeout=2)\n"
        "    print('connected')\n"
        "except OSError as error:\n"
        "    print('refused')\n"
        "try:\n"
        "    print(sorted(name for _, name in socket.if_nameindex() if name != 'lo'), 'other networks')\n"
        "except OSError:\n"
        "    print([], 'other networks')\n"
    )
    container = arena.launch(source)
    log = leave(container)
    assert "refused" in log
    assert "[] other networks" in log


@pytest.mark.containers_nightly
def test_a_player_sees_nothing_of_the_referees_environment(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "very secret")
    container = arena.launch("import os; print(dict(os.environ))\n" + FIRST_VALID)
    log = leave(container)
    assert "very secret" not in log
    assert "PYTHONHASHSEED" in log
