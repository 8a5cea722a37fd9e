"""Environments as Gymnasium's and PettingZoo's, judged by the tests of those packages."""

from __future__ import annotations

import base64
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import arena_kit
from arena_kit.environment.adapters.exports.against import OpponentFailed
from arena_kit.environment.adapters.exports.seated_match import SeatedMatch
from arena_kit.environment.openings import opening_of, play_opening
from arena_kit.environment.protocol import MissingExtra, UnknownEnvironment
from arena_kit.environment.registry import all_specs, get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.examples import FOLDER
from arena_kit.opponents import RandomPlayer, UnknownOpponent
from arena_kit.tests.environment.playing import installed

SPECS = [pytest.param(spec, id=spec.slug) for spec in all_specs()]


@pytest.fixture
def quiet() -> Iterator[None]:
    """Let Gymnasium and PettingZoo advise: on bounds that are infinite, on environments that nothing has registered."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("spec", SPECS)
def test_gymnasium_accepts_one_seat_of_every_environment(spec: EnvironmentSpec, quiet: None) -> None:
    check_env(arena_kit.make(installed(spec).slug), skip_render_check=True)


@pytest.mark.parametrize("spec", SPECS)
def test_pettingzoo_accepts_every_environment(spec: EnvironmentSpec, quiet: None) -> None:
    tests = pytest.importorskip("pettingzoo.test")
    slug = installed(spec).slug
    tests.api_test(arena_kit.aec(slug), num_cycles=50)
    tests.parallel_api_test(arena_kit.parallel(slug), num_cycles=50)
    tests.seed_test(lambda: arena_kit.aec(slug), num_cycles=5)
    tests.parallel_seed_test(lambda: arena_kit.parallel(slug), num_cycles=5)


def begun(spec: EnvironmentSpec, seed: int, *, opens: bool) -> list[float]:
    """Return the observation of the seat that acts first in the match of a seed, as the referee begins it."""
    environment = spec.make()
    environment.reset(seed)
    if opens:
        play_opening(environment, opening_of(spec, seed))
    return list(environment.observe(environment.to_move[0]).observation)


@pytest.mark.parametrize("slug", ["tic-tac-toe", "connect-four", "quarto"])
@pytest.mark.parametrize("opens", [True, False])
def test_matches_begin_with_the_opening_of_their_seed_unless_asked_otherwise(
    slug: str, opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pettingzoo")
    started: list[tuple[int, list[float]]] = []
    reset = SeatedMatch.reset

    def kept(table: SeatedMatch, seed: int) -> None:
        reset(table, seed)
        started.append((seed, table.observation(table.to_move[0]).ravel().tolist()))

    monkeypatch.setattr(SeatedMatch, "reset", kept)
    spec = get_spec(slug)
    chosen: Any = {} if opens else {"openings": False}
    for seed in range(5):
        aec = arena_kit.aec(slug, **chosen)
        aec.reset(seed=seed)
        assert aec.observe(aec.agent_selection)["observation"].ravel().tolist() == started[-1][1]
        arena_kit.parallel(slug, **chosen).reset(seed=seed)
        arena_kit.make(slug, **chosen).reset(seed=seed)

    assert [state for _, state in started] == [begun(spec, seed, opens=opens) for seed, _ in started]
    assert (len({tuple(state) for _, state in started}) > 1) is opens


def test_the_library_is_imported_without_gymnasium_and_numpy() -> None:
    program = "import sys, arena_kit; print({'gymnasium', 'numpy', 'pettingzoo', 'yaml'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def episode(environment: Any, seed: int | None = None, choose: Any = np.argmax) -> tuple[float, dict[str, Any], int]:
    """Play a match with the first valid action; return the sum of rewards, the last info, and the number of moves."""
    _, info = environment.reset(seed=seed)
    total, moves, is_over = 0.0, 0, False
    while not is_over:
        assert info["action_mask"].any()
        _, reward, terminated, truncated, info = environment.step(int(choose(info["action_mask"])))
        total, moves, is_over = total + reward, moves + 1, terminated or truncated
    assert not info["action_mask"].any()
    return total, info, moves


def test_seats_take_turns_unless_one_is_chosen() -> None:
    environment = arena_kit.make("connect-four")
    assert [episode(environment, 5 if number == 0 else None)[1]["seat"] for number in range(4)] == [0, 1, 0, 1]
    assert {episode(arena_kit.make("connect-four", seat=1))[1]["seat"] for _ in range(2)} == {1}
    drawn = arena_kit.make("tic-tac-toe", seat="random")
    assert {episode(drawn)[1]["seat"] for _ in range(30)} == {0, 1}
    _, info = environment.reset(options={"seat": 1})
    assert info["seat"] == 1


def test_a_seed_repeats_a_match_against_a_player_with_chance() -> None:
    environment = arena_kit.make("connect-four", opponent="minimax")
    played = [episode(environment, seed) for seed in (3, 3)]
    assert played[0][0] == played[1][0]
    assert played[0][2] == played[1][2]
    # The opponent moves first, at random.
    seen = [tuple(arena_kit.make("tic-tac-toe", seat=1).reset(seed=seed)[0]) for seed in (*range(20), *range(20))]
    assert seen[:20] == seen[20:]
    assert len(set(seen)) > 3


def test_the_reward_is_what_happened_until_the_next_own_move() -> None:
    # The opponent drops into column 6, which is never full before four of its own pieces lie there.
    environment = arena_kit.make("connect-four", opponent=lambda state, valid: 6, seat=0, openings=False)
    environment.reset(seed=1)
    rewards = [environment.step(column) for column in (0, 1, 0, 1)]
    assert [reward for _, reward, *_ in rewards] == [0.0, 0.0, 0.0, -1.0]
    assert rewards[-1][2:4] == (True, False)
    with pytest.raises(gymnasium.error.ResetNeeded):
        environment.step(0)


def test_an_illegal_action_forfeits_as_in_the_arena() -> None:
    environment = arena_kit.make("connect-four", opponent=lambda state, valid: valid[-1], seat=0)
    environment.reset(seed=1)
    _, reward, terminated, truncated, info = environment.step(99)
    assert (reward, terminated, truncated, info["forfeited"]) == (-1.0, True, False, True)


@pytest.mark.parametrize(
    ("opponent", "sentence"),
    [
        (lambda state, valid: 99, "played 99, which is not a valid action"),
        (lambda state, valid: int("no number"), "raised ValueError"),
    ],
)
def test_an_opponent_that_fails_is_named_and_earns_nothing(opponent: Any, sentence: str) -> None:
    environment = arena_kit.make("connect-four", opponent=opponent, seat=0)
    environment.reset(seed=1)
    with pytest.raises(OpponentFailed, match=sentence):
        environment.step(0)


def test_players_are_found_by_name_folder_zip_class_and_object(tmp_path: Path) -> None:
    from arena_kit.examples import make_archive

    archive = tmp_path / "mine.zip"
    archive.write_bytes(make_archive("dummy"))
    for opponent in ("dummy", FOLDER / "dummy", str(FOLDER / "minimax"), archive, RandomPlayer(3)):
        assert episode(arena_kit.make("tic-tac-toe", opponent=opponent, seat=0, openings=False))[2] >= 3


def test_a_folder_keeps_its_modules_to_itself(tmp_path: Path) -> None:
    source = "import helper\ndef act(state, valid_actions):\n    return helper.choose(valid_actions)\n"
    for name, place in (("one", 0), ("two", -1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").write_text(source)
        (tmp_path / name / "helper.py").write_text(f"def choose(valid): return valid[{place}]\n")
    # Seat 1 answers at the left or the right end of the board.
    found = []
    for name in ("one", "two"):
        state, _ = arena_kit.make("connect-four", opponent=tmp_path / name, seat=1, openings=False).reset(seed=1)
        found.append(int(np.flatnonzero(state[:42])[0]))
    assert found == [35, 41]
    assert "helper" not in sys.modules


@pytest.mark.parametrize(
    ("opponent", "sentence"),
    [
        ("nobody", "There is no opponent 'nobody' for Connect Four: .* deep_search, dummy, minimax, random"),
        ("pong_aim", "There is no opponent 'pong_aim' for Connect Four"),
        (7, "neither a name, a path, a player nor a function"),
    ],
)
def test_an_unknown_opponent_is_refused_with_those_that_fit(opponent: Any, sentence: str) -> None:
    with pytest.raises(UnknownOpponent, match=sentence):
        arena_kit.make("connect-four", opponent=opponent)


def test_a_folder_without_a_player_and_one_that_breaks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownOpponent, match="has no player.py, agent.py or main.py"):
        arena_kit.make("connect-four", opponent=tmp_path)
    (tmp_path / "player.py").write_text("import no_such_package\n")
    with pytest.raises(UnknownOpponent, match="ModuleNotFoundError: No module named 'no_such_package'"):
        arena_kit.make("connect-four", opponent=tmp_path)
    (tmp_path / "broken.zip").write_bytes(b"no zip")
    with pytest.raises(UnknownOpponent, match="cannot be unpacked"):
        arena_kit.make("connect-four", opponent=tmp_path / "broken.zip")


@pytest.mark.parametrize("seat", [2, -1, "first", True])
def test_an_unknown_seat_is_refused(seat: Any) -> None:
    with pytest.raises(ValueError, match="There is no seat"):
        arena_kit.make("connect-four", seat=seat)


def test_unknown_environments_and_render_modes_are_refused() -> None:
    with pytest.raises(UnknownEnvironment):
        arena_kit.make("chess")
    with pytest.raises(ValueError, match="no render mode 'human'"):
        arena_kit.make("connect-four", render_mode="human")


def test_a_match_is_drawn_as_text() -> None:
    environment = arena_kit.make("connect-four", render_mode="ansi")
    environment.reset(seed=1)
    assert "to move" in environment.render()


@pytest.mark.parametrize("make", [arena_kit.make, arena_kit.aec, arena_kit.parallel])
def test_a_match_is_drawn_as_svg_and_as_an_array(make: Any) -> None:
    pytest.importorskip("pettingzoo")
    drawn = make("connect-four", render_mode="svg")
    assert drawn._repr_html_() is None
    drawn.reset(seed=1)
    assert base64.b64encode(drawn.render().encode()).decode() in drawn._repr_html_()
    assert drawn.render().startswith("<svg ")
    # A notebook may hold several.
    assert " id=" not in drawn.render()
    pixels = make("connect-four", render_mode="rgb_array")
    pixels.reset(seed=1)
    picture = pixels.render()
    assert (picture.dtype, picture.shape) == (np.uint8, (412, 440, 3))
    # The board, its white cells, and the discs of the opening.
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 3
    assert pixels.metadata["render_modes"] == ["ansi", "svg", "rgb_array"]


def test_a_task_of_gymnasium_draws_itself_at_its_own_speed() -> None:
    environment = arena_kit.make("cart-pole", render_mode="rgb_array")
    environment.reset(seed=1)
    own = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    own.reset(seed=1)
    assert environment.render().shape == own.render().shape  # type: ignore[union-attr]
    assert environment.metadata["render_fps"] == own.metadata["render_fps"] == 50


def test_wrappers_that_record_take_the_pictures(quiet: None) -> None:
    environment = gymnasium.wrappers.RenderCollection(gymnasium.make("arena/tic-tac-toe", render_mode="rgb_array"))
    environment.reset(seed=1)
    environment.step(environment.get_wrapper_attr("action_masks")().argmax())
    assert [np.shape(picture) for picture in environment.render() or ()] == [(320, 320, 3)] * 2


def test_an_array_without_its_package_names_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = arena_kit.make("connect-four", render_mode="rgb_array")
    environment.reset(seed=1)
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtra, match=r"resvg_py: install arena-kit\[render\], as the page"):
        environment.render()


def test_masks_for_maskable_ppo_are_those_of_the_seat() -> None:
    environment = arena_kit.make("connect-four", seat=0)
    _, info = environment.reset(seed=1)
    masks = environment.action_masks()
    assert masks.dtype == np.bool_
    assert masks.tolist() == info["action_mask"].astype(bool).tolist()
    with pytest.raises(ValueError, match="actions are arrays"):
        arena_kit.make("pendulum").action_masks()


def test_gymnasium_makes_every_environment_by_its_name() -> None:
    names = {name for name in gymnasium.registry if name.startswith("arena/")}
    assert names == {f"arena/{spec.slug}" for spec in all_specs()}
    made = gymnasium.make("arena/connect-four", opponent="minimax", seat=1)
    assert made.spec is not None
    assert (made.spec.id, made.reset(seed=1)[1]["seat"]) == ("arena/connect-four", 1)
    own = arena_kit.make("connect-four", opponent="minimax", seat=1)
    assert own.spec is not None
    assert own.spec.make().reset(seed=1)[1]["seat"] == 1


def test_several_are_one_vector_environment() -> None:
    made = arena_kit.make_vec("connect-four", 3, opponent="minimax", seat=1)
    twin = gymnasium.make_vec("arena/connect-four", 3, opponent="minimax", seat=1)
    assert isinstance(made, gymnasium.vector.VectorEnv)
    for environment in (made, twin):
        states, infos = environment.reset(seed=1)
        assert (len(states), infos["action_mask"].shape, infos["seat"].tolist()) == (3, (3, 7), [1, 1, 1])
        _, rewards, *_ = environment.step(infos["action_mask"].argmax(axis=1))
        assert rewards.shape == (3,)
        environment.close()


def test_a_vector_without_an_environment_is_refused() -> None:
    with pytest.raises(ValueError, match="num_envs must be at least 1, not 0"):
        arena_kit.make_vec("connect-four", 0)


@pytest.mark.parametrize("made", [arena_kit.make("connect-four"), arena_kit.make_vec("connect-four", 1)])
def test_a_step_before_the_match_begins_says_what_to_call(made: Any) -> None:
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        made.step(made.action_space.sample())


@pytest.mark.parametrize("order", ["arena_kit, gymnasium", "gymnasium, arena_kit"])
def test_the_names_are_there_whichever_is_imported_first(order: str) -> None:
    code = f"import {order}; gymnasium.make('arena/tic-tac-toe').reset(); print('made')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "made\n"


def test_importing_the_library_alone_imports_neither_numpy_nor_gymnasium() -> None:
    code = "import arena_kit, sys; dir(arena_kit); print({'numpy', 'gymnasium', 'tqdm', 'yaml'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"install arena-kit\[pettingzoo\], as the page /kit/"):
        arena_kit.aec("connect-four")


def test_both_seats_of_pong_see_their_own_side_and_rewards_add_up() -> None:
    pytest.importorskip("pettingzoo")
    environment = arena_kit.parallel("pong")
    seen, infos = environment.reset(seed=4)
    assert all(info["acts"] for info in infos.values())
    total = dict.fromkeys(environment.agents, 0.0)
    while environment.agents:
        first, second = seen["player_0"]["observation"], seen["player_1"]["observation"]
        assert first[0] == pytest.approx(1 - second[0], abs=1e-6)
        seen, rewards, *_ = environment.step({"player_0": 0, "player_1": 1})
        assert sum(rewards.values()) == 0
        for agent, reward in rewards.items():
            total[agent] += reward
    points = seen["player_0"]["observation"][6:8]
    assert total["player_0"] == points[0] - points[1]


def test_an_illegal_action_in_pettingzoo_ends_the_match() -> None:
    pytest.importorskip("pettingzoo")
    environment = arena_kit.aec("connect-four")
    environment.reset(seed=1)
    environment.step(99)
    assert environment.rewards == {"player_0": -1.0, "player_1": 1.0}
    assert set(environment.terminations.values()) == {True}


def test_one_seat_has_no_opponent() -> None:
    environment = arena_kit.make("cart-pole")
    state, info = environment.reset(seed=1)
    assert state.shape == (4,)
    assert info["action_mask"].tolist() == [1, 1]
    assert get_spec("cart-pole").seats == 1
