"""Real players in local processes: their possible forms, and every way to misbehave."""

from __future__ import annotations

import dataclasses

import pytest
from django.conf import settings

from arena_kit.environment.records import Fault, Outcome
from arena_kit.referee.play import PlayedDuel
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.tests.playing import GOOD, LIMITS, play, player

IN_A_SECOND = dataclasses.replace(LIMITS, move_seconds=0.5, bank_seconds=0.5)


def codes(duel: PlayedDuel) -> list[str]:
    return [match.error_code for match in duel.record.matches]


def assert_all_lost(duel: PlayedDuel, code: str, sentence: str = "") -> None:
    assert set(codes(duel)) == {code}
    assert all(match.outcome is Outcome.PLAYER_2 for match in duel.record.matches)
    assert all(match.faulty_player == 0 for match in duel.record.matches)
    assert all(sentence in match.error for match in duel.record.matches)


# --- Forms ------------------------------------------------------------------------------------------------


def test_a_good_player_makes_no_errors_and_its_prints_are_in_its_log() -> None:
    duel = play(player(step="print('thinking about', state.tolist())"))
    assert set(codes(duel)) == {""}
    assert "thinking about [" in duel.player_logs[0]


FORMS = {
    "class Agent with act": {"agent.py": "class Agent:\n    def act(self, obs):\n        return first(obs)\n"},
    "class Agent with act and valid_actions": {
        "agent.py": "class Agent:\n    def act(self, observation, valid_actions):\n        return valid_actions[0]\n"
    },
    "module with act": {"main.py": "def act(observation):\n    return first(observation)\n"},
    "module with get_action": {"agent.py": "def get_action(observation):\n    return first(observation)\n"},
    "module with create_agent": {
        "main.py": "class Any:\n    def get_action(self, observation):\n        return first(observation)\n"
        "def create_agent():\n    return Any()\n"
    },
    "create_agent that is given a player id": {
        "main.py": "class Any:\n    def __init__(self, who):\n        self.who = who\n"
        "    def get_action(self, observation):\n        return seated(observation, self.who)\n"
        "def create_agent(player_id):\n    return Any(player_id)\n"
    },
    "class Agent with a player id": {
        "agent.py": "class Agent:\n    def __init__(self, player_id, depth=2):\n        self.seat = player_id\n"
        "    def act(self, obs):\n        return seated(obs, self.seat)\n"
    },
    "class Agent with a player id that need not be given": {
        "agent.py": "class Agent:\n    def __init__(self, *, player_id=7):\n        self.seat = player_id\n"
        "    def act(self, obs):\n        return seated(obs, self.seat)\n"
    },
    "class Agent with an argument by another name": {
        "agent.py": "class Agent:\n    def __init__(self, seat, /):\n        self.seat = seat\n"
        "    def act(self, obs):\n        return seated(obs, self.seat)\n"
    },
    "a class that extends an abstract Agent from a package": {
        "agent.py": "from base import Agent\nclass Mine(Agent):\n    def act(self, obs):\n        return first(obs)\n",
        "base.py": "from abc import ABC, abstractmethod\nclass Agent(ABC):\n    def __init__(self, player_id=0): ...\n"
        "    @abstractmethod\n    def act(self, obs): ...\n",
    },
    "class Player without train_mode": {
        "player.py": "class Player:\n    def start(self, state, valid_actions):\n        return first(state)\n"
        "    def step(self, state, valid_actions, prev_reward):\n        return first(state)\n"
        "    def end(self, state, prev_reward): ...\n"
    },
    "a function as Kaggle's": {
        "main.py": "def agent(observation, configuration):\n"
        "    assert observation.mark == observation['mark'] == sum(map(bool, observation.board)) % 2 + 1\n"
        "    assert (configuration.columns, configuration.inarow) == (3, 3)\n"
        "    assert observation.step == sum(map(bool, observation.board))\n"
        "    return first(observation.board)\n"
    },
    "Kaggle's last function, by another name": {
        "main.py": "def helper(x):\n    return x\ndef my_agent(obs):\n    return helper(obs.legalActions[0])\n"
    },
    "predict that returns action and state": {
        "agent.py": "class Agent:\n    def predict(self, observation):\n        return first(observation), None\n"
    },
    "predict with the valid actions": {
        "agent.py": "class Agent:\n    def predict(self, observation, valid):\n        return valid[0], None\n"
    },
    "player.py beside a package of the same name": {"player.py": GOOD, "player/__init__.py": "1 / 0\n"},
    "player beside other modules": {
        "player.py": "from helper import Player\n", "helper.py": GOOD
    },
}  # fmt: skip
FIRST = """
def first(observation):
    return [i for i in range(9) if observation[i] == 0][0]

def seated(observation, seat):
    assert seat == (0 if observation[9] == 1 else 1)
    return first(observation)

"""


def with_helpers(files: dict[str, str]) -> dict[str, str]:
    return {name: FIRST + text if "first(" in text or "seated(" in text else text for name, text in files.items()}


@pytest.mark.parametrize("form", FORMS)
def test_every_accepted_form_plays_without_errors(form: str) -> None:
    duel = play(with_helpers(FORMS[form]), matches=2)
    assert set(codes(duel)) == {""}
    assert [match.outcome for match in duel.record.matches] == [Outcome.PLAYER_1, Outcome.PLAYER_2]


IN_CONTAINERS = ("create_agent that is given a player id",)
"""The form that plays in containers on every push; the code that adapts them all is the same in both."""


@pytest.mark.docker
@pytest.mark.parametrize(
    "form", [pytest.param(form, marks=() if form in IN_CONTAINERS else pytest.mark.nightly) for form in FORMS]
)
def test_every_accepted_form_plays_in_containers(form: str) -> None:
    duel = play(
        with_helpers(FORMS[form]),
        matches=2,
        limits=dataclasses.replace(LIMITS, start_seconds=60.0),
        sandboxed=lambda channels: DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=channels),
    )
    assert set(codes(duel)) == {""}


def test_state_and_valid_actions_are_fresh_writable_arrays_of_the_environments_type() -> None:
    checks = (
        "import numpy\n"
        "assert isinstance(state, numpy.ndarray) and state.dtype == numpy.int64 and state.shape == (10,)\n"
        "assert isinstance(valid_actions, numpy.ndarray) and valid_actions.dtype == numpy.int64\n"
        "assert prev_reward == 0.0 and type(prev_reward) is float\n"
        "state[:] = 9"
    )
    assert set(codes(play(player(step=checks)))) == {""}


def test_one_object_plays_at_most_one_match_at_a_time_and_is_used_again() -> None:
    source = player(
        top="MADE = []",
        init="MADE.append(1)\nself.busy = False\nprint('made', len(MADE))",
        start="assert not self.busy\nself.busy = True",
        end="self.busy = False",
    )
    duel = play(source, matches=24, parallel=4)
    assert set(codes(duel)) == {""}
    assert "made 1" in duel.player_logs[0]
    assert "made 9" not in duel.player_logs[0]


def test_a_player_may_ask_for_fewer_matches_at_once() -> None:
    source = player(attributes="max_parallel_matches = 1", init="print('made')")
    duel = play(source, matches=12, parallel=8)
    assert set(codes(duel)) == {""}
    assert duel.player_logs[0].count("made") == 1


@pytest.mark.parametrize("parallel", [1, 7, 128])
def test_real_players_give_the_same_results_however_many_matches_run_at_once(parallel: int) -> None:
    source = player(step="return valid_actions[int(state.sum()) % len(valid_actions)]")
    duel = play(
        source, player(step="return valid_actions[-1]"), environment="connect-four-v1", matches=40, parallel=parallel
    )
    found = [(m.actions, m.outcome, m.scores) for m in duel.record.matches]
    assert len(found) == 40
    assert found[:2] * 20 == found


# --- Errors that leave the process alive ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("9", "9 is not among"),
        ("-1", "-1 is not among"),
        ("10 ** 30", "not a 64-bit integer"),
        ("0.0", "must be an integer, not float"),
        ("True", "must be an integer, not bool"),
        ("'0'", "must be an integer, not str"),
        ("None", "must be an integer, not NoneType"),
        ("valid_actions", "must be one integer, not an array of shape"),
    ],
)
def test_what_is_no_valid_action_forfeits_the_match_with_a_sentence(value: str, sentence: str) -> None:
    assert_all_lost(play(player(start=f"return {value}")), "illegal_action", sentence)


@pytest.mark.parametrize(
    "value", ["int(valid_actions[0])", "valid_actions[0]", "__import__('numpy').uint8(valid_actions[0])"]
)
def test_integers_of_python_and_numpy_are_fine(value: str) -> None:
    assert set(codes(play(player(start=f"return {value}")))) == {""}


@pytest.mark.parametrize("place", ["start", "step"])
def test_an_exception_forfeits_the_match_and_its_trace_goes_to_the_players_own_log(place: str) -> None:
    duel = play(player(init="print('made')", **{place: "raise KeyError('no such state')"}))
    assert_all_lost(duel, "player_raised", "KeyError: 'no such state'")
    assert "Traceback" not in duel.record.matches[0].error
    assert "Traceback" in duel.player_logs[0]
    assert len(duel.record.matches[0].error) <= 2000
    assert "started again" not in duel.player_logs[0]


def test_an_exception_in_one_match_leaves_the_others_alone() -> None:
    duel = play(player(top="SEEN = []", start="SEEN.append(1)\nif len(SEEN) == 2: raise ValueError"), parallel=1)
    assert codes(duel) == ["", "player_raised", "", ""]


def test_an_exception_in_a_later_constructor_is_an_exception_of_that_match() -> None:
    source = player(top="MADE = []", init="MADE.append(1)\nif len(MADE) == 2: raise OSError('only one GPU')")
    duel = play(source)
    assert codes(duel).count("player_raised") == 1


def test_an_exception_in_end_is_logged_and_costs_nothing() -> None:
    duel = play(player(end="raise OSError('disk full')"))
    assert set(codes(duel)) == {""}
    assert "disk full" in duel.log


def test_an_endless_traceback_is_cut() -> None:
    duel = play(player(step="raise ValueError('x' * 10_000_000)"), matches=1)
    assert_all_lost(duel, "player_raised", "ValueError: xxx")
    assert len(duel.record.matches[0].error) <= 2000


def test_endless_recursion_is_an_exception() -> None:
    assert_all_lost(play(player(step="return self.step(state, valid_actions, 0.0)"), matches=2), "player_raised")


# --- Errors that end the process --------------------------------------------------------------------------


def test_a_player_that_exits_forfeits_and_is_started_again() -> None:
    duel = play(player(step="print('leaving')\nimport os\nos._exit(0)"), matches=6)
    assert duel.record.summary.errors == (6, 0)
    assert codes(duel).count("player_died") == LIMITS.max_restarts + 1
    assert codes(duel).count("too_many_restarts") == 6 - LIMITS.max_restarts - 1


@pytest.mark.parametrize("how", ["raise SystemExit(0)", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
                                 "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"])  # fmt: skip
def test_every_way_to_die_forfeits(how: str) -> None:
    duel = play(player(step=how), matches=1)
    assert_all_lost(duel, "player_died")


@pytest.mark.slow
def test_a_player_that_thinks_too_long_forfeits() -> None:
    assert_all_lost(play(player(step="while True: pass"), matches=1, limits=IN_A_SECOND), "player_timed_out")


@pytest.mark.slow
def test_a_player_stopped_by_itself_forfeits() -> None:
    source = player(step="import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)")
    # It uses no processor: the whole wall time has to pass.
    assert_all_lost(play(source, matches=1, limits=IN_A_SECOND), "player_timed_out")


FIND_WIRE = (
    "import os, socket, stat\n"
    "WIRE = [n for n in range(3, 20) if os.path.exists(f'/proc/self/fd/{n}')\n"
    "        and stat.S_ISSOCK(os.stat(f'/proc/self/fd/{n}').st_mode)]\n"
)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param("b'\\x11\\0\\0'", "player_timed_out", marks=pytest.mark.nightly),
        ("b'hello, this is not the protocol'", "oversized_answer"),
        ("b'\\x09\\0\\0\\0\\x99' + bytes(8)", "malformed_answer"),
        ("b'\\x11\\0\\0\\0\\x82' + bytes(16)", "unexpected_answer"),
    ],
)
@pytest.mark.slow
def test_a_player_that_writes_on_the_wire_itself_loses(data: str, code: str) -> None:
    source = player(step=FIND_WIRE + f"for n in WIRE: os.write(n, {data})\nimport time\ntime.sleep(60)")
    assert_all_lost(play(source, matches=1), code)


def test_a_player_that_floods_the_wire_loses_without_harm() -> None:
    source = player(step=FIND_WIRE + "for n in WIRE:\n    for _ in range(10_000): os.write(n, bytes(65536))")
    duel = play(source, matches=1)
    assert duel.record.summary.errors == (1, 0)


def test_a_player_that_forges_a_late_answer_cannot_win_by_it() -> None:
    # The player answers a question twice: once over the wire itself, and once by returning.
    forged = "b'\\x11\\0\\0\\0\\x82' + struct.pack('<IIq', 1, 1, int(valid_actions[0]))"
    source = player(step=FIND_WIRE + f"import struct\nfor n in WIRE: os.write(n, {forged})")
    duel = play(source, matches=1)
    assert duel.record.summary.errors == (1, 0)
    # If the second answer arrives while no question is open, no match forfeits, but the restart counts.
    assert codes(duel)[0] in ("unexpected_answer", "too_many_restarts")


def test_a_player_that_cannot_be_loaded_forfeits_all_and_its_log_says_why() -> None:
    duel = play(player(top="import a_missing_module"), matches=3)
    assert_all_lost(duel, "player_failed_to_start")
    assert "No module named 'a_missing_module'" in duel.player_logs[0]
    assert duel.record.summary.scores == (-3.0, 3.0)


def test_a_flood_of_prints_is_cut_and_does_no_harm() -> None:
    limits = dataclasses.replace(LIMITS, log_limit_bytes=2000, move_seconds=20.0)
    duel = play(player(step="print('y' * 1_000_000)"), matches=2, limits=limits)
    assert set(codes(duel)) == {""}
    assert len(duel.player_logs[0]) <= 2300


@pytest.mark.slow
def test_a_fault_is_never_a_draw_a_void_or_a_win() -> None:
    for source in (player(step="import os; os._exit(1)"), player(start="raise ValueError"), "1 / 0"):
        duel = play(source, source, matches=4)
        assert all(match.fault is Fault.PLAYER for match in duel.record.matches)
        assert all(match.outcome in (Outcome.PLAYER_1, Outcome.PLAYER_2) for match in duel.record.matches)
