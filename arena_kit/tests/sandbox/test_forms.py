"""Which of the objects in a file is the player: the first one that can be called as the arena calls it."""

from __future__ import annotations

import itertools
import time
import types
from collections import deque
from typing import Any

import pytest

from arena_kit.contract import FORMS
from arena_kit.sandbox.inside.player_server import serving
from arena_kit.sandbox.inside.player_server.forms import ACCEPTED, adapt
from arena_kit.sandbox.inside.player_server.kaggle import Kaggle, Variables, board_of
from arena_kit.upload.source_warnings import warnings_of

CONTRACT = (
    "    def start(self, s, v): return 'Player'\n    def step(self, s, v, r): ...\n    def end(self, s, r): ...\n"
)
KAGGLE = "def agent(observation, configuration):\n    return 'Kaggle'\n"
ABSTRACT = (
    "import abc\nclass Player(abc.ABC):\n    @abc.abstractmethod\n    def choose(self): ...\n"
    "    def start(self, s, v): return self.choose()\n    def step(self, s, v, r): return self.choose()\n"
    "    def end(self, s, r): ...\n"
)
numbers = itertools.count()


def module_of(source: str) -> types.ModuleType:
    module = types.ModuleType(f"player_{next(numbers)}")
    exec(source, vars(module))
    return module


def first_action(source: str, name: str = "main") -> Any:
    """Return what the player of a file answers first: in these files, the name of its form."""
    player = adapt(name, module_of(source))(False)
    if hasattr(player, "arena_sit"):
        player.arena_sit(0)
    return player.start([0] * 10, [0])


FOUND = {
    "a contract": (f"class Player:\n{CONTRACT}", "Player"),
    "a contract beside Kaggle's function": (f"class Player:\n{CONTRACT}{KAGGLE}", "Player"),
    "a Player with a train_mode": (f"class Player:\n    def __init__(self, train_mode): ...\n{CONTRACT}", "Player"),
    "a Player with defaults": (f"class Player:\n    def __init__(self, t, depth=3, *, x=1): ...\n{CONTRACT}", "Player"),
    "a helper Player that needs arguments": (
        f"class Player:\n    def __init__(self, mark, name): ...\n{KAGGLE}", "Kaggle",
    ),
    "a helper Player without methods": (f"class Player:\n    mark = 1\n{KAGGLE}", "Kaggle"),
    "a helper Player with methods of its own": (f"class Player:\n    def play(self): ...\n{KAGGLE}", "Kaggle"),
    "a helper Player with keywords": (
        f"class Player:\n    def __init__(self, *, a, b): ...\n{CONTRACT}{KAGGLE}", "Kaggle",
    ),
    "an abstract Player that another class fills in": (
        f"{ABSTRACT}class Own(Player):\n    def choose(self): return 'Own'\n", "Own",
    ),
    "an abstract Player beside Kaggle's function": (f"{ABSTRACT}{KAGGLE}", "Kaggle"),
    "a helper Agent whose act needs more": (f"class Agent:\n    def act(self, board, mark): ...\n{KAGGLE}", "Kaggle"),
    "a helper Agent that needs arguments": (
        f"class Agent:\n    def __init__(self, a, b): ...\n    def act(self, s): ...\n{KAGGLE}", "Kaggle",
    ),
    "a helper Agent without a method": (f"class Agent:\n    pass\n{KAGGLE}", "Kaggle"),
    "a helper Agent that could play": (f"class Agent:\n    def act(self, s): return 'Agent'\n{KAGGLE}", "Kaggle"),
    "a helper Agent, and an alias": (
        "class Agent:\n    def act(self, a, b): ...\ndef mine(obs, config):\n    return 'alias'\n", "alias",
    ),
    "helpers act and predict": (f"def act(board, mark): ...\ndef predict(x): return 'predict'\n{KAGGLE}", "Kaggle"),
    "a helper create_agent": (f"def create_agent(depth, width): ...\n{KAGGLE}", "Kaggle"),
    "an Agent beside agent with other words": (
        "class Agent:\n    def act(self, s): return 'Agent'\ndef agent(name):\n    return 'x'\n", "Agent",
    ),
    "an Agent with a seat": ("class Agent:\n    def __init__(self, who): ...\n    def act(self, s): return 'A'\n", "A"),
    "an Agent with a staticmethod": ("class Agent:\n    @staticmethod\n    def act(s): return 'static'\n", "static"),
    "an alias": ("def my_agent(observation, configuration):\n    return 'alias'\n", "alias"),
    "an alias that is a lambda": ("play = lambda obs, config: 'lambda'\n", "lambda"),
    "the last alias": ("def a(obs):\n    return 'a'\ndef b(obs):\n    return 'b'\n", "b"),
    "agent with one argument": ("def agent(state):\n    return 'one'\n", "one"),
}  # fmt: skip


@pytest.mark.parametrize("name", ["main", "player"])
@pytest.mark.parametrize(("source", "expected"), FOUND.values(), ids=FOUND)
def test_the_player_is_what_can_be_called(source: str, expected: str, name: str) -> None:
    assert first_action(source, name) == expected


@pytest.mark.parametrize("source", [source for source, _ in FOUND.values()], ids=FOUND)
def test_what_the_arena_can_load_gets_no_warning_about_its_form(source: str) -> None:
    found = warnings_of({"main.py": source.encode()}, has_requirements=True, python=(3, 11))
    assert not {item["code"] for item in found} & {"no_player", "player_methods"}


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("x = 1\n", "neither a class Player nor a class Agent"),
        (
            "class Agent:\n    def __init__(self, env): ...\n    def act(self, s): ...\n",
            "Agent needs env, which players do",
        ),
        ("class Agent:\n    def __init__(self, n_actions): ...\n    def act(self, s): ...\n", "Agent needs n_actions"),
        (
            "class Agent:\n    def __init__(self, state_size, x): ...\n    def act(self, s): ...\n",
            "Agent needs state_size",
        ),
        ("class Agent:\n    def __init__(self, action_space): ...\n    def act(self, s): ...\n", "needs action_space"),
        (f"class Player:\n    def __init__(self, env): ...\n{CONTRACT}", "Player needs env, which players do not get"),
        (
            f"class Player:\n    def __init__(self, a, b): ...\n{CONTRACT}",
            "Player needs a, b: the arena gives 1 argument",
        ),
        ("def create_agent(config): ...\n", "create_agent needs config"),
        ("class Agent:\n    def act(self, board, mark): ...\n", "act() needs mark"),
        ("def act(board, mark): ...\n", "act() needs mark"),
        ("def agent(a, b, c): ...\n", "agent takes 3 arguments"),
        ("class Agent: ...\n", "has none of the methods act, get_action, predict"),
    ],
)
def test_a_file_without_a_player_that_can_be_called_says_what_to_change(source: str, sentence: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        adapt("main", module_of(source))
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(ACCEPTED)


@pytest.mark.parametrize(
    ("classes", "there"),
    [("", "none"), ("".join(f"class {name}(Player):\n    def choose(self): ...\n" for name in "BA"), "A, B")],
)
def test_an_abstract_player_without_one_class_that_fills_it_in_is_named(classes: str, there: str) -> None:
    with pytest.raises(RuntimeError, match=f"Player of main.py is abstract, .* there: {there}. Call the one"):
        adapt("main", module_of(f"{ABSTRACT}{classes}"))


def test_warnings_and_the_loader_have_one_list_of_forms() -> None:
    for form in FORMS:
        found = warnings_of({"player.py": f"{form} = 1\n".encode()}, has_requirements=True, python=(3, 11))
        assert not found, form


# --- One match at a time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (KAGGLE, 1),
        (f"max_parallel_matches = 1\n{KAGGLE}", 1),
        (f"max_parallel_matches = 8\n{KAGGLE}", 8),
        ("def mine(obs): ...\n", 1),
        ("def act(s): ...\n", 1),
        ("max_parallel_matches = 4\ndef predict(s): ...\n", 4),
        ("class Agent:\n    def act(self, s): ...\n", None),
        ("class Agent:\n    max_parallel_matches = 2\n    def act(self, s): ...\n", 2),
        (f"class Player:\n{CONTRACT}", None),
    ],
)
def test_functions_of_a_file_play_one_match_at_a_time_unless_it_says_otherwise(
    source: str, expected: int | None
) -> None:
    player = adapt("main", module_of(source))(False)
    assert getattr(player, "max_parallel_matches", None) == expected


@pytest.mark.parametrize("head", ["def agent(observation, configuration):", "def act(state):"])
def test_every_match_begins_with_the_variables_that_the_file_was_loaded_with(head: str) -> None:
    source = f"seen, last, loaded = [], None, False\n{head}\n    global last, loaded\n    loaded = True\n"
    module = module_of(f"{source}    seen.append(1)\n    last = len(seen)\n    return last\n")
    player = adapt("main", module)(False)
    for _ in range(3):
        assert player.start([0] * 10, [0]) == 1
        assert player.step([0] * 10, [0], 0.0) == 2
    assert module.loaded


def test_what_a_file_loads_once_and_large_tables_stay() -> None:
    module = types.ModuleType("one")
    module.__dict__.update(model=None, counts=deque(), table=dict.fromkeys(range(5000)))
    variables = Variables(module)
    table = module.__dict__["table"]
    module.__dict__.update(model=object(), counts=deque([1]))
    table[1] = 2
    variables.renew()
    assert module.__dict__["model"] is not None
    assert module.__dict__["counts"] == deque()
    assert table[1] == 2


# --- What Kaggle's functions see -------------------------------------------------------------------------------


def hello(size: int | tuple[int, ...], count: int, dtype: str = "int64") -> dict[str, Any]:
    shape = size if isinstance(size, tuple) else (size,)
    return {"observation": {"shape": shape, "dtype": dtype}, "actions": {"count": count}}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (hello(43, 7), (7, 6, 4)),
        (hello(42, 7), (7, 6, 4)),
        (hello((6, 7), 7), (7, 6, 4)),
        (hello(10, 9), (3, 3, 3)),
        (hello((3, 3), 9), (3, 3, 3)),
        (hello(226, 225), (15, 15, 5)),
        (hello(17, 256), None),
        (hello(1, 4), None),
        (hello(3, 2), None),
        (hello(8, 3, "float32"), None),
        (hello(43, 0), None),
        ({}, None),
    ],
)
def test_a_board_is_given_wherever_observations_have_its_shape(said: dict[str, Any], expected: Any) -> None:
    assert board_of(said) == expected


def test_kaggle_s_numbers_are_those_of_the_arena(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"move_seconds": 0.5, "bank_seconds": 4.0, "duel_seconds": 9.0, "max_steps": 42, "seats": 2}
    monkeypatch.setattr(serving, "environment", {**hello(43, 7), "play": limits})
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    seen = []

    def agent(observation: Any, configuration: Any) -> int:
        seen.append((observation, configuration))
        now[0] += 1.5
        return 0

    player = Kaggle(agent, types.ModuleType("one"))
    player.arena_sit(1)
    board = [0] * 38 + [1, -1, 1, -1, 1]
    for _ in range(2):
        player.start(board, [0, 1])
        player.step([*board[:30], 1, -1, *board[32:]], [0], 0.0)
    assert [one.step for one, _ in seen] == [4, 6, 4, 6]
    assert [one.remainingOverageTime for one, _ in seen] == [4.0, 3.0, 4.0, 3.0]
    assert seen[0][0].board == [0] * 38 + [1, 2, 1, 2]
    configuration = seen[0][1]
    assert (configuration.actTimeout, configuration.timeout, configuration.agentTimeout) == (0.5, 0.5, 4.0)
    assert (configuration.episodeSteps, configuration.runTimeout, configuration.columns) == (42, 9.0, 7)
