"""Classic folders play as the games of the arena do."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena_kit.environment.adapters.classic.environment import ClassicEnvironment, html_of
from arena_kit.environment.adapters.classic.info import BadKey, Facts, read_classic
from arena_kit.environment.adapters.classic.values import plain, read_reset, read_step, valid_actions
from arena_kit.environment.conformance import check_environment
from arena_kit.environment.info import BadInfo, read_info
from arena_kit.environment.outside.learning import learn
from arena_kit.environment.protocol import BrokenEnvironment, Environment, IllegalAction, MatchOver
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import ArraySpec, EnvironmentSpec
from arena_kit.tests.environment.outside import FOLDERS, classic

INFO: dict[str, Any] = {
    "name": "A", "slug": "a", "image": "a.svg", "description": "A.", "num_matches_in_duel": 10, "memory_limit": "4g",
    "cpu_limit": 1,
}  # fmt: skip


def learned(path: Path) -> EnvironmentSpec:
    return read_info(path, learn(path.parent, max_steps=1000))


def numbers(environment: Environment, spec: EnvironmentSpec, seat: int) -> list[float]:
    seen = environment.observe(seat).observation
    return list(np.frombuffer(seen, spec.observation.wire)) if isinstance(seen, bytes) else list(seen)


@pytest.mark.parametrize("matches", [60, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.nightly])])
@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("classic_connect_four", lambda: get_spec("connect-four")),
        ("classic_nim", lambda: read_info(FOLDERS / "nim" / "info.yml")),
    ],
)
def test_random_matches_are_those_of_the_native_game_move_by_move(
    name: str, native: Callable[[], EnvironmentSpec], matches: int
) -> None:
    spec, other = learned(FOLDERS / name / "info.yml"), native()
    rng = random.Random(1)
    mine, its = spec.make(), other.make()
    for seed in range(matches):
        mine.reset(seed)
        its.reset(seed)
        while its.to_move:
            (seat,) = its.to_move
            assert mine.to_move == its.to_move
            valid = its.observe(seat).valid_actions
            assert list(mine.observe(seat).valid_actions) == list(valid)
            assert numbers(mine, spec, seat) == list(its.observe(seat).observation)
            action = rng.choice(valid)
            assert mine.step({seat: action}) == its.step({seat: action})
        assert mine.to_move == ()
        assert numbers(mine, spec, 0) == list(its.observe(0).observation)


@pytest.mark.parametrize("name", ["classic_nim", "classic_connect_four"])
def test_a_classic_folder_keeps_every_promise_of_the_protocol(name: str) -> None:
    check_environment(learned(FOLDERS / name / "info.yml"), matches=5)


def test_one_match_at_a_time_lets_a_player_learn_from_match_to_match() -> None:
    assert learned(FOLDERS / "classic_nim" / "info.yml").parallel_matches == 1


def test_what_its_file_does_not_say_is_learned_by_play() -> None:
    assert learn(FOLDERS / "classic_connect_four", max_steps=42) == Facts((43,), "int64", "int64", 7, 1.0)
    spec = learned(FOLDERS / "classic_nim" / "info.yml")
    assert (spec.observation, spec.action_count) == (ArraySpec((1,), "int64", "int64"), 3)
    assert (spec.forfeit_score, spec.max_steps, spec.version) == (1.0, 1000, 1)
    assert (spec.matches_per_duel, spec.limits.memory_limit_bytes, spec.limits.cpu_count) == (16, 512 << 20, 1.0)
    assert spec.classic is not None
    assert spec.classic.notes == ("num_matches_in_duel is odd (15): 16 are played, because players swap seats.",)


@pytest.mark.parametrize(
    ("state", "shape", "dtype"),
    [
        ("[1, 2, self.left]", (3,), "int64"),
        ("(0.5, self.left)", (2,), "float64"),
        ("np.zeros((2, 3), dtype=np.int8)", (2, 3), "int8"),
        ("np.zeros(4)", (4,), "float64"),
        ("{'board': [1, 2], 'player': 1}", (3,), "int64"),
        ("[[1, 2], [3]]", (3,), "int64"),
        ("None", (1,), "int64"),
        ("self.left", (1,), "int64"),
        ("np.int16(self.left)", (1,), "int64"),
        ("{5, 3}", (2,), "int64"),
        ("[True, False]", (2,), "bool"),
    ],
)
def test_states_are_taken_as_people_write_them(tmp_path: Path, state: str, shape: tuple[int, ...], dtype: str) -> None:
    result = f"{state}, 0, self.left == 0, [0, 1]"
    spec = learned(classic(tmp_path, "game", state=state, result=result))
    assert (spec.observation.shape, spec.observation.dtype) == (shape, dtype)
    check_environment(spec, matches=2, with_picture=False)


@pytest.mark.parametrize(
    ("given", "valid"),
    [
        ([2, 0, 2], (0, 2)),
        (np.array([3, 1]), (1, 3)),
        ({4, 2}, (2, 4)),
        (range(3), (0, 1, 2)),
        (np.nonzero([0, 1, 1]), (1, 2)),
        (np.array([True, False, True]), (0, 2)),
        ([False, True], (1,)),
        ([np.int64(7), 2.0], (2, 7)),
        ((action for action in (1, 0)), (0, 1)),
        ({0: "a", 3: "b"}.keys(), (0, 3)),
        (None, ()),
    ],
)
def test_valid_actions_are_taken_as_people_write_them(given: object, valid: tuple[int, ...]) -> None:
    assert valid_actions(given, "reset") == valid


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (([0], 1, False), "step must return (state, reward, done, valid_actions), not 3 values (list, int, bool)."),
        (([0], False, 0.5, [0]), "the reward must be a number, not False"),
        (([0], 0.5, 0.5, [0]), "done must be True or False, not 0.5"),
        (([0], float("nan"), False, [0]), "the reward must be finite"),
        ((["x"], 0, False, [0]), "a state must hold numbers only"),
        (([], 0, False, [0]), "a state has 0 values"),
        (([0], 0, False, "01"), "valid_actions must be a list of whole numbers"),
        (([0], 0, False, [-1]), "the action -1 is not between"),
        (([0], 0, False, [0.5]), "is not a whole number"),
        (None, "not None"),
    ],
)
def test_what_step_must_not_return_is_told_in_a_sentence(returned: object, sentence: str) -> None:
    with pytest.raises(BrokenEnvironment, match="must|no whole|not between|values") as caught:
        read_step(returned)
    assert sentence in str(caught.value)


def test_rewards_and_ends_may_be_numbers_of_numpy() -> None:
    stepped = read_step((np.array([1]), np.float32(1), np.bool_(True), np.array([])))
    assert stepped[1:] == (1.0, True, ())
    assert read_step(([1], None, 0, [0]))[1:] == (0.0, False, (0,))
    with pytest.raises(BrokenEnvironment, match="reset must return"):
        read_reset([1, 2, 3])


def test_the_reward_is_that_of_the_seat_that_moved_and_the_other_gets_its_negative(tmp_path: Path) -> None:
    game = learned(classic(tmp_path, "game", result="[self.left], 2, self.left == 0, [0, 1]")).make()
    game.reset(0)
    assert [game.step({seat: 0}) for seat in (0, 1, 0, 1)] == [(2.0, -2.0), (-2.0, 2.0)] * 2
    assert game.to_move == ()
    with pytest.raises(MatchOver):
        game.step({0: 0})


def test_a_reward_of_nothing_is_nothing_for_both(tmp_path: Path) -> None:
    game = learned(classic(tmp_path, "game", result="[self.left], 0, self.left == 0, [0, 1]")).make()
    game.reset(0)
    assert repr([game.step({seat: 0}) for seat in (0, 1)]) == "[(0.0, 0.0), (0.0, 0.0)]"


def test_the_text_of_a_state_does_not_turn_the_text_around_it(tmp_path: Path) -> None:
    path = classic(tmp_path, "game")
    code = path.with_name("environment.py")
    code.write_text(code.read_text().replace("return self.left\n", r"return ['日本', '\u202e']" + "\n"))
    game = learned(path).make()
    game.reset(0)
    assert game.text() == r'["日本", "\u202e"]'


def test_an_action_that_is_not_in_the_list_never_reaches_the_game(tmp_path: Path) -> None:
    game = learned(classic(tmp_path, "game", before="assert action in (0, 1)")).make()
    game.reset(0)
    for action in (2, -1, 1 << 70):
        with pytest.raises(IllegalAction):
            game.step({0: action})
    with pytest.raises(IllegalAction):
        game.step({1: 0})
    assert game.step({0: 1}) == (0.0, -0.0)


@pytest.mark.parametrize("before", ["raise KeyError('x')", "sys.exit(3)", "1 / 0"])
def test_whatever_the_game_raises_is_its_own_fault(tmp_path: Path, before: str) -> None:
    path = classic(tmp_path, "game", before=before)
    game = read_info(path, Facts(action_count=2)).make()
    game.reset(0)
    with pytest.raises(BrokenEnvironment, match="game-v1: step raised"):
        game.step({0: 0})


def test_a_state_of_another_shape_or_an_action_beyond_the_count_is_refused(tmp_path: Path) -> None:
    path = classic(tmp_path, "game", result="[1] * self.left, 0, False, [9]")
    with pytest.raises(BrokenEnvironment, match="different shapes"):
        learn(path.parent, max_steps=10)
    game = read_info(path, Facts(shape=(3,), action_count=10)).make()
    with pytest.raises(BrokenEnvironment, match="has the shape"):
        game.reset(0)
    game = read_info(path, Facts(action_count=1)).make()
    with pytest.raises(BrokenEnvironment, match="action_count is 1"):
        game.reset(0)


def test_states_are_copied(tmp_path: Path) -> None:
    path = classic(tmp_path, "game", before="self.state[0] += 1", state="self.__dict__.setdefault('state', [7])",
                   result="self.state, 0, self.left == 0, [0, 1]")  # fmt: skip
    game = read_info(path, Facts(action_count=2)).make()
    game.reset(0)
    before = game.observe(0)
    game.step({0: 0})
    assert np.frombuffer(before.observation, "int64") == [7]  # type: ignore[arg-type]


def test_chance_is_drawn_from_the_seed_also_while_matches_take_turns(tmp_path: Path) -> None:
    state = "[random.randrange(1000), int(np.random.randint(1000))]"
    path = classic(tmp_path, "game", state=state, result=f"{state}, 0, self.left == 0, [0, 1]")
    spec = learned(path)
    assert spec.classic is not None
    assert spec.classic.uses_chance
    check_environment(spec, matches=3, with_picture=False)
    alone = played(spec, [5])
    random.seed(3)
    before = random.getstate()
    assert played(spec, [5, 6])[::2] == alone
    assert random.getstate() == before
    assert played(spec, [6]) != alone


def played(spec: EnvironmentSpec, seeds: list[int]) -> list[object]:
    """Play matches in turns; return what is seen."""
    games = [spec.make() for _ in seeds]
    for game, seed in zip(games, seeds, strict=True):
        game.reset(seed)
    return [(*game.step({seat: 0}), game.observe(0).observation) for seat in (0, 1, 0, 1) for game in games]


@pytest.mark.slow
def test_a_match_without_an_end_is_cut_off(tmp_path: Path) -> None:
    path = classic(tmp_path, "game", result="[1], 0, False, [0]", info="max_steps: 5\n")
    game = learned(path).make()
    game.reset(0)
    for number in range(5):
        game.step({number % 2: 0})
    assert (game.to_move, game.truncated) == ((), True)


@pytest.mark.parametrize("key", ["name", "slug", "image", "description", "memory_limit", "cpu_limit"])
def test_a_key_that_is_missing_is_named(key: str) -> None:
    with pytest.raises(BadKey, match=f"^{key}: this key is missing.$"):
        read_classic({name: value for name, value in INFO.items() if name != key}, Facts())


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("num_matches_in_duel", "many", "num_matches_in_duel: must be a whole number of at least 1, not 'many'."),
        ("num_matches_in_duel", True, "num_matches_in_duel: must be"),
        ("memory_limit", "4 elephants", "memory_limit: must be a number of bytes, or a text such as 512m or 4g"),
        ("memory_limit", 0, "memory_limit: must be"),
        ("cpu_limit", "half", "cpu_limit: must be a number above 0, not 'half'."),
        ("cpu_limit", -1, "cpu_limit: must be"),
        ("colour", "red", "colour: there is no such key in a classic folder."),
    ],
)
def test_a_key_that_is_wrong_is_named(key: str, value: object, sentence: str) -> None:
    with pytest.raises(BadKey) as caught:
        read_classic(INFO | {key: value}, Facts())
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("written", "count"),
    [("4g", 4 << 30), ("512m", 512 << 20), ("64K", 64 << 10), ("1.5g", 3 << 29), ("2GiB", 2 << 30), (1000, 1000)],
)
def test_sizes_of_memory_are_those_of_docker(written: object, count: int) -> None:
    assert read_classic(INFO | {"memory_limit": written}, Facts())["limits"]["memory_limit_bytes"] == count


def test_a_wrong_value_of_a_new_key_is_named_as_everywhere(tmp_path: Path) -> None:
    with pytest.raises(BadInfo, match=r"game/info.yml: max_steps: must be a whole number, not 'long'."):
        read_info(classic(tmp_path, "game", info="max_steps: long\n"))


def test_frames_are_json_whatever_the_game_holds() -> None:
    given = {"a": np.int64(1), 2: (np.array([1.5]), {3, 1}), "c": None, "d": [np.bool_(True)]}
    assert plain(given) == {"a": 1, "2": [[1.5], [1, 3]], "c": None, "d": [True]}
    assert json.loads(json.dumps(plain(given))) == plain(given)
    with pytest.raises(BrokenEnvironment, match="to_jsonable must return"):
        plain(object())


@pytest.mark.parametrize("signature", ["@staticmethod\n    def jsonable_to_html(jsonable)",
                                       "@classmethod\n    def jsonable_to_html(cls, jsonable)",
                                       "def jsonable_to_html(jsonable)",
                                       "def jsonable_to_html(self, jsonable)"])  # fmt: skip
def test_html_is_drawn_by_any_kind_of_method(tmp_path: Path, signature: str) -> None:
    path = classic(tmp_path, "game")
    code = path.with_name("environment.py")
    code.write_text(code.read_text().replace("@staticmethod\n    def jsonable_to_html(jsonable)", signature))
    assert html_of(read_info(path), 3) == "<p>3</p>"


def test_a_base_class_is_given_to_the_folder_and_to_nothing_else() -> None:
    import importlib
    import sys

    assert isinstance(read_info(FOLDERS / "classic_nim" / "info.yml", Facts(action_count=3)).make(), ClassicEnvironment)
    assert "environments.base_environment" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("environments.base_environment")
