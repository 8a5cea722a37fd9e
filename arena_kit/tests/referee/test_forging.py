"""Players that try to forge a score, evaluated in real sandboxes, gain nothing."""

from __future__ import annotations

import hashlib
import json
import struct
import time
from dataclasses import replace

import numpy as np
import pytest

from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.play import PlayedEvaluation, run_evaluation
from arena_kit.tests.arenas import LIMITS, Arena
from arena_kit.tests.corridors import CORRIDOR, SEEDS, SLIDER, evaluate, outline, rightwards
from arena_kit.tests.fake import FakeContainer

HIDDEN = tuple(281_474_976_710_655 - 7_777_777_777 * number for number in range(12))
"""Seeds as long as real hidden seeds, so that a text does not contain one by chance."""
HONEST = """
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions): return valid_actions[-1]
    def step(self, state, valid_actions, prev_reward): return valid_actions[-1]
    def end(self, state, prev_reward): pass
"""


def judge(
    arena: Arena, source: str, *, spec: EnvironmentSpec = CORRIDOR, limits: Limits = LIMITS, parallel: int = 4
) -> PlayedEvaluation:
    played = run_evaluation(
        spec,
        lambda: arena.launch(source, limits=limits),
        name="one",
        seeds=HIDDEN,
        parallel_episodes=parallel,
        limits=limits,
        clock=time.monotonic,
    )
    assert list(arena.channels.iterdir()) == []
    return played


def stepping(statement: str) -> str:
    """Return the source of an honest player with other code in its steps."""
    step = "def step(self, state, valid_actions, prev_reward): "
    return HONEST.replace(f"{step}return", f"{step}{statement}; return")


FORGERIES = {
    "printing a score": """
import sys
print('{"score": 1000000.0}')
print("SCORE: 1000000", file=sys.stderr)
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions):
        print('{"score": 1e9, "metrics": [1e9], "episodes": 12}', flush=True)
        return valid_actions[-1]
    def step(self, state, valid_actions, prev_reward):
        print('{"event": "ended", "score": 1e9}', flush=True)
        return valid_actions[-1]
    def end(self, state, prev_reward):
        print('{"score": 1e9}', flush=True)
""",
    "stepping a copy of its own": """
import sys
try:
    from arena_kit.tests.corridors import Corridor
    where = "from the arena"
except ImportError:
    where = "of its own"
    class Corridor:
        def reset(self, seed): self.place = seed % 7
        def step(self, actions): self.place += 1; return (1e9,)
print("a copy", where)
Corridor.step = lambda self, actions: (1e9,)
class Player:
    def __init__(self, train_mode):
        self.copy = Corridor()
    def start(self, state, valid_actions):
        self.copy.reset(1)
        self.total = sum(self.copy.step({0: 1})[0] for _ in range(1000))
        return valid_actions[-1]
    def step(self, state, valid_actions, prev_reward):
        self.total += prev_reward
        return valid_actions[-1]
    def end(self, state, prev_reward):
        print("I have", self.total)
        self.score = self.total
""",
    "writing into what it is given": """
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions):
        chosen = valid_actions[-1]
        state[:] = 10
        valid_actions[:] = 1
        return chosen
    def step(self, state, valid_actions, prev_reward):
        return self.start(state, valid_actions)
    def end(self, state, prev_reward):
        state[:] = 10
        return 1e9
""",
}


@pytest.mark.parametrize(
    "forgery",
    [
        pytest.param(name, marks=() if name == "writing into what it is given" else pytest.mark.containers_nightly)
        for name in FORGERIES
    ],
)
def test_a_forged_score_is_the_score_that_the_referee_has_counted(arena: Arena, forgery: str) -> None:
    played = judge(arena, FORGERIES[forgery])

    honest = evaluate(rightwards, seeds=HIDDEN)
    assert played.failure is None
    assert outline(played.record) == outline(honest.record)
    assert max(episode.score for episode in played.record.episodes) <= 1.0


@pytest.mark.containers_nightly
def test_a_reward_that_is_returned_for_an_action_is_none(arena: Arena) -> None:
    played = judge(arena, HONEST.replace("return valid_actions[-1]", "return 1e9"))

    assert played.failure is not None
    assert (played.failure.fault, played.record.episodes) == (PlayerFault.ILLEGAL_ACTION, ())


@pytest.mark.containers_nightly
def test_leaving_early_is_no_way_to_keep_a_good_beginning(arena: Arena) -> None:
    played = judge(arena, stepping("import os; os._exit(0)"))

    assert played.failure is not None
    assert (played.failure.fault, played.record.episodes) == (PlayerFault.DIED, ())


SPY = """
import hashlib, os, re, sys
WANTED = set({wanted!r})

def texts():
    yield "arguments", "\\0".join(sys.argv + sys.orig_argv).encode()
    yield "environment", "\\0".join(f"{{key}}={{value}}" for key, value in os.environ.items()).encode()
    places = ["/channel", "/tmp", "/dev/shm", os.getcwd(), os.path.expanduser("~"), os.path.dirname(__file__)]
    for number in filter(str.isdigit, os.listdir("/proc")):
        places += [f"/proc/{{number}}/{{name}}" for name in ("cmdline", "environ", "cwd", "fd", "maps", "mem")]
    for place in places:
        yield from under(place)
    for name in os.listdir("/proc/self/fd"):
        try:
            yield "descriptors", os.readlink(f"/proc/self/fd/{{name}}").encode()
        except OSError:
            pass

def under(place):
    if os.path.isdir(place):
        for folder, folders, names in os.walk(place):
            if folder.count("/") - place.count("/") > 3:
                folders.clear()
            for name in names[:200]:
                yield "names", name.encode()
                yield from content(os.path.join(folder, name))
    else:
        yield from content(place)

def content(path):
    try:
        if os.path.isfile(path) and os.path.realpath(path) != os.path.realpath(__file__):
            with open(path, "rb") as file:
                yield path, file.read(1 << 20)
    except (OSError, ValueError):
        pass

def is_wanted(number):
    return hashlib.sha256(str(number).encode()).hexdigest() in WANTED

def numbers(data):
    yield from (int(digits) for digits in re.findall(rb"\\d{{10,18}}", data))

LOOKED = [0]

def found():
    hits = []
    for where, data in texts():
        LOOKED[0] += 1
        hits += [where for number in numbers(data) if is_wanted(number)]
    return hits

class Player:
    def __init__(self, train_mode):
        print("test of itself:", is_wanted({decoy}), [*numbers(b"x {decoy} y")] == [{decoy}])
    def start(self, state, valid_actions):
        if not LOOKED[0]:
            print("found:", found())
            print("looked at some:", LOOKED[0] > 5)
        print("seen:", [value for value in [*vars(self).values(), *map(int, state)] if is_wanted(value)])
        return valid_actions[-1]
    def step(self, state, valid_actions, prev_reward):
        return valid_actions[-1]
    def end(self, state, prev_reward):
        pass
"""


def test_a_player_finds_no_seed_in_all_that_it_can_read(arena: Arena) -> None:
    decoy = 731_906_284_517
    wanted = [hashlib.sha256(str(seed).encode()).hexdigest() for seed in (*HIDDEN, decoy)]
    limits = replace(LIMITS, move_seconds=60.0, log_limit_bytes=16_000)

    played = judge(arena, SPY.format(wanted=wanted, decoy=decoy), limits=limits, parallel=1)

    assert played.failure is None, played.player_log
    said = played.player_log.splitlines()
    # The player would recognise a seed, and it has searched for them.
    assert "test of itself: True True" in said
    assert "looked at some: True" in said
    assert [line for line in said if line.startswith(("found", "seen"))] == ["found: []", *["seen: []"] * len(HIDDEN)]
    assert [episode.seed for episode in played.record.episodes] == list(HIDDEN)


def test_no_seed_crosses_the_wire_in_any_form() -> None:
    containers: list[FakeContainer] = []

    evaluate(rightwards, seeds=HIDDEN, containers=containers)

    received = bytes(containers[0].received)
    assert b"corridor-v1" in received
    for seed in HIDDEN:
        forms = [str(seed).encode(), f"{seed:x}".encode(), *(struct.pack(form, seed) for form in ("<Q", ">Q", "<d"))]
        assert not any(form in received for form in (*forms, seed.to_bytes(6, "little"), seed.to_bytes(6, "big")))


TORQUE = """
import numpy
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions):
        assert state.dtype == numpy.float64 and state.shape == (2,) and len(valid_actions) == 0
        return self.step(state, valid_actions, 0.0)
    def step(self, state, valid_actions, prev_reward):
        return {action}
    def end(self, state, prev_reward):
        pass
"""
ARRAY_FORMS = {
    "Player": {"player.py": TORQUE.format(action="numpy.array([state[0], 0.0])")},
    "Player with a list": {"player.py": TORQUE.format(action="[float(state[0]), 0]")},
    "Agent.act": {"agent.py": "class Agent:\n    def act(self, observation):\n        return [observation[0], 0.0]\n"},
    "get_action": {"main.py": "def get_action(observation):\n    return [observation[0], 0.0]\n"},
    "predict": {
        "agent.py": "class Agent:\n    def predict(self, observation):\n        return [observation[0], 0.0], None\n"
    },
}


@pytest.mark.parametrize("form", ARRAY_FORMS)
@pytest.mark.containers_nightly
def test_every_form_of_a_player_may_answer_with_arrays(arena: Arena, form: str) -> None:
    launch = arena.prepare("")
    folder = launch.image.removeprefix("folder:")
    for name, text in ARRAY_FORMS[form].items():
        (arena.folder / folder / name).write_text(text)
    if "player.py" not in ARRAY_FORMS[form]:
        (arena.folder / folder / "player.py").unlink()

    played = evaluate(
        rightwards, spec=SLIDER, seeds=SEEDS[:9], limits=LIMITS, launch=lambda: arena.sandbox.launch(launch)
    )

    assert played.failure is None, played.player_log
    # The target is hit exactly, so the wire loses no precision.
    assert [episode.score for episode in played.record.episodes] == [0.0] * 9
    assert all(np.frombuffer(action, "<f4")[1] == 0.0 for action in played.record.episodes[0].actions)  # type: ignore[arg-type]


WRONG_ARRAYS = {
    "not a number": ("[float('nan'), 0.0]", "illegal_action", "An action must be finite."),
    "wrong shape": ("numpy.zeros(3)", "illegal_action", "must have the shape (2,), that is 2 values, not 3."),
    "no array": ("None", "illegal_action", "must be an array of float32, not of object."),
    "raises": ("1 / 0", "player_raised", "ZeroDivisionError: division by zero"),
}


@pytest.mark.parametrize("kind", WRONG_ARRAYS)
@pytest.mark.containers_nightly
def test_what_is_no_array_fails_the_evaluation(arena: Arena, kind: str) -> None:
    action, code, sentence = WRONG_ARRAYS[kind]

    played = judge(arena, TORQUE.format(action=action), spec=SLIDER)

    assert played.failure is not None
    assert (played.failure.fault, played.record.episodes) == (code, ())
    assert played.failure.sentence.endswith(sentence)


MISDEEDS = {
    "raises at import": ("raise RuntimeError('no weights')", "player_failed_to_start"),
    "raises": (stepping("1 / 0"), "player_raised"),
    "exits": (stepping("raise SystemExit"), "player_died"),
    "hangs": (stepping("import time; time.sleep(60)"), "player_timed_out"),
}


@pytest.mark.parametrize(
    "misdeed",
    [
        pytest.param(name, marks=() if name in ("exits", "hangs") else pytest.mark.containers_nightly)
        for name in MISDEEDS
    ],
)
def test_a_misdeed_fails_the_evaluation_and_leaves_nothing(arena: Arena, misdeed: str) -> None:
    source, code = MISDEEDS[misdeed]

    played = judge(arena, source, limits=replace(LIMITS, move_seconds=0.3, bank_seconds=0.2))

    assert played.failure is not None
    assert played.failure.fault == code
    assert played.record.episodes == ()


@pytest.mark.containers_nightly
def test_a_flood_of_prints_is_cut_and_changes_no_score(arena: Arena) -> None:
    played = judge(arena, stepping("print('noise' * 20_000)"))

    assert outline(played.record) == outline(evaluate(rightwards, seeds=HIDDEN).record)
    assert "bytes cut" in played.player_log
    assert len(played.player_log) <= LIMITS.log_limit_bytes + 256


@pytest.mark.containers_nightly
def test_what_is_known_of_an_evaluation_can_be_written_as_json(arena: Arena) -> None:
    played = judge(arena, HONEST)

    values = [[e.seed, e.score, e.thinking_seconds, e.cpu_seconds, e.truncated] for e in played.record.episodes]
    assert json.loads(json.dumps(values)) == values
