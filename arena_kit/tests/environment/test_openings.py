"""The openings that a seed gives, and the key `openings` of an environment's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_kit.environment.availability import trouble_of
from arena_kit.environment.info import FOLDER, BadInfo, read_info
from arena_kit.environment.loading import load
from arena_kit.environment.openings import NoOpening, check_openings, draw, opening_of, play_opening
from arena_kit.environment.openings_key import Openings
from arena_kit.environment.protocol import Environment, Observation
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.tests.environment.playing import GAMES

SEEDS = st.integers(0, 2**32 - 1)

WITH_OPENINGS = tuple(spec for spec in GAMES if spec.openings is not None)


def position(spec: EnvironmentSpec, seed: int) -> Environment:
    environment = spec.make()
    environment.reset(seed)
    play_opening(environment, opening_of(spec, seed))
    return environment


@pytest.mark.parametrize("spec", WITH_OPENINGS, ids=lambda spec: str(spec.slug))
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_every_seed_gives_one_legal_opening_that_leaves_the_match_open(spec: EnvironmentSpec, seed: int) -> None:
    assert spec.openings is not None
    line = opening_of(spec, seed)
    opening_of.cache_clear()
    environment = position(spec, seed)

    assert opening_of(spec, seed) == line
    assert spec.openings.plies[0] <= len(line) <= spec.openings.plies[1]
    assert environment.to_move
    assert not load(spec.openings.decided, spec.folder)(environment)


@pytest.mark.parametrize(("slug", "least"), [("connect-four", 240), ("quarto", 240), ("tic-tac-toe", 150)])
def test_the_pairs_of_a_duel_begin_in_different_positions(slug: str, least: int) -> None:
    spec = get_spec(slug)
    found = {tuple(position(spec, seed).observe(0).observation) for seed in range(250)}

    assert len(found) >= least


def test_an_opening_is_drawn_as_documented() -> None:
    """Other programs draw it again from the description in docs/reference/environment-files.md."""
    assert [draw(7, 0, place, 1000) for place in range(3)] == [149, 964, 781]
    assert opening_of(get_spec("connect-four"), 7) == (4, 6, 5, 0)


@pytest.mark.parametrize("slug", ["tic-tac-toe", "connect-four", "quarto"])
def test_the_first_version_of_the_rules_has_no_openings(slug: str) -> None:
    newest, earlier = get_spec(slug), get_spec(f"{slug}-v1")

    assert (newest.id, earlier.id) == (f"{slug}-v2", f"{slug}-v1")
    assert earlier == replace(newest, version=1, openings=None)
    assert opening_of(earlier, 7) == ()


@pytest.mark.parametrize(
    ("game", "moves", "decided"),
    [
        ("tic-tac-toe", "4 1", True), ("tic-tac-toe", "4 0", False),
        ("connect-four", "3 0 2 6", True),  # 1 or 4 makes an open three
        ("connect-four", "3 3 3 3", False),
        ("connect-four", "0 6 0 6 0 5", True),  # the player to move completes four
        ("quarto", "83 18", False),
    ],
)  # fmt: skip
def test_solvers_know_decided_positions(game: str, moves: str, decided: bool) -> None:
    spec = get_spec(game)
    environment = spec.make()
    environment.reset(0)
    play_opening(environment, tuple(map(int, moves.split())))
    assert spec.openings is not None

    assert load(spec.openings.decided, spec.folder)(environment) is decided


def test_quarto_is_decided_where_a_line_of_three_fits_the_piece_in_hand() -> None:
    spec = get_spec("quarto")
    environment = spec.make()
    environment.reset(0)
    # 15, 7 and 3 share two traits in the top row; 11 has them too.
    play_opening(environment, (16 * 0 + 7, 16 * 1 + 3, 16 * 2 + 11))
    assert spec.openings is not None

    assert load(spec.openings.decided, spec.folder)(environment)


class Coins:
    """Both seats take coins at the same time, three times; the rewards are the coins."""

    def reset(self, seed: int) -> None:
        self._steps = 0

    @property
    def to_move(self) -> tuple[int, ...]:
        return (0, 1) if self._steps < 3 else ()

    def observe(self, seat: int) -> Observation:
        return Observation([self._steps], (1, 2) if self._steps < 3 else ())

    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        self._steps += 1
        return float(actions[0]), float(actions[1])

    @property
    def truncated(self) -> bool:
        return False

    def frame(self) -> dict[str, Any]:
        return {"steps": self._steps}

    def text(self) -> str:
        return f"Step {self._steps}"


def test_a_ply_of_simultaneous_moves_is_one_step_of_all_seats() -> None:
    spec = replace(get_spec("tic-tac-toe"), entry_point=f"{__name__}:Coins", openings=Openings((2, 2)), folder=Path())
    line = opening_of(spec, 5)
    environment = spec.make()
    environment.reset(5)

    assert len(line) == 4
    assert [sum(rewards) for rewards in play_opening(environment, line)] == [sum(line[:2]), sum(line[2:])]
    assert environment.observe(0).observation == [2]


def game(folder: Path, openings: object, **files: str) -> Path:
    """Make a folder with Connect Four and these openings; files: by name, with _ for the dot."""
    place = folder / "my_game"
    place.mkdir()
    info = yaml.safe_load((FOLDER / "connect_four" / "info.yml").read_text())
    for name in ("environment.py", "render.py", "rules.py", "solver.py"):
        (place / name).write_text((FOLDER / "connect_four" / name).read_text())
    (place / "info.yml").write_text(yaml.safe_dump({**info, "slug": "my-game", "openings": openings}))
    for name, text in files.items():
        (place / name.replace("_", ".")).write_text(text)
    return place / "info.yml"


@pytest.mark.parametrize(
    ("openings", "complaint"),
    [
        ([4], "openings: must be a mapping"),
        ({"plies": 0}, "openings: plies: must lie between 1 and 100"),
        ({"plies": "6..2"}, "openings: plies: must lie between 1 and 100, the smaller first"),
        ({"plies": "2-6"}, "openings: plies: must be a whole number or a range such as 2..6"),
        ({"plies": True}, "openings: plies: must be a whole number or a range"),
        ({"plies": 42}, "openings.plies: must end below max_steps, which is 42"),
        ({"from": "random"}, "openings: plies: this key is missing"),
        ({"plies": 2, "from": "engine"}, "openings: from: must be random or book, not 'engine'"),
        ({"plies": 2, "seed": 1}, "openings: seed: there is no such key"),
        ({"plies": 2, "file": "book.txt"}, "openings: file: only openings from a book have a file"),
        ({"from": "book"}, "openings: file: must be the name of a book beside this file"),
        ({"from": "book", "file": "../book.txt"}, "openings: file: must be the name of a book beside this file"),
        ({"from": "book", "file": "none.txt"}, "openings: file: there is no book none.txt beside this file"),
        ({"from": "book", "file": "empty.txt"}, "openings: file: empty.txt must have 1 to 20000 openings, not 0"),
        ({"from": "book", "file": "words.txt"}, "openings: file: line 2 of words.txt must be actions"),
        ({"from": "book", "file": "twice.txt"}, "openings: file: twice.txt has the opening 3 3 twice"),
        ({"from": "book", "file": "text.yml"}, "openings: file: text.yml must be a list of lists of actions"),
        ({"from": "book", "file": "bomb.yml"}, "openings: file: bomb.yml uses an alias"),
        ({"from": "book", "file": "deep.yml"}, "openings: file: deep.yml must be a list of lists"),
        ({"plies": 2, "decided": "solver"}, "openings: decided: must be written module:function"),
    ],
    ids=str,
)
def test_openings_that_make_no_sense_are_refused_by_file_and_key(
    openings: object, complaint: str, tmp_path: Path
) -> None:
    books = {"empty_txt": "# nothing\n", "words_txt": "3 3\na b\n", "twice_txt": "3 3\n3,3\n", "text_yml": "- 3\n"}
    books |= {"bomb_yml": "- &x [3, 3]\n- *x\n", "deep_yml": "[" * 500_000}

    with pytest.raises(BadInfo) as refused:
        read_info(game(tmp_path, openings, **books))
    assert str(refused.value).startswith("my_game/info.yml: ")
    assert complaint in str(refused.value)


def test_openings_need_two_seats(tmp_path: Path) -> None:
    path = tmp_path / "alone.yml"
    path.write_text((FOLDER / "gymnasium" / "cart-pole.yml").read_text() + "\nopenings: {plies: 2}\n")

    with pytest.raises(BadInfo, match=r"alone.yml: openings: are for two seats or more"):
        read_info(path)


@pytest.mark.parametrize(
    ("openings", "book", "complaint"),
    [
        ({}, "3 9\n", "the opening 3 9 of book.txt has an illegal move: Column 9 does not exist"),
        ({}, "3 0 3 0 3 0 3\n", "the opening 3 0 3 0 3 0 3 of book.txt ends with a finished match"),
        ({}, "3 0 3 0 3 0 3 1\n", "the opening 3 0 3 0 3 0 3 1 of book.txt has an illegal move"),
        ({"plies": 2}, "3 3\n3\n", "the opening 3 of book.txt has 1 plies, but plies is 2..2"),
        ({"decided": "solver:is_decided"}, "3 0 2 6\n", "ends with a position that is decided already"),
        ({"decided": "solver:nothing"}, "3\n", "decided: solver:nothing cannot be loaded"),
    ],
)
def test_a_book_that_does_not_fit_the_rules_leaves_the_environment_out(
    openings: dict[str, object], book: str, complaint: str, tmp_path: Path
) -> None:
    spec = read_info(game(tmp_path, {"from": "book", "file": "book.txt", **openings}, book_txt=book))

    with pytest.raises(NoOpening) as refused:
        check_openings(spec)
    trouble = trouble_of(spec)
    assert str(refused.value).startswith("my_game/info.yml: openings: ")
    assert complaint in str(refused.value)
    assert trouble is not None
    assert trouble.because == str(refused.value)


@pytest.mark.parametrize(
    ("name", "text"), [("book_txt", "# named\n3 3\n\n2, 4 4 # other\n"), ("book_yml", "- [3, 3]\n- [2, 4, 4]\n")]
)
def test_a_book_is_text_or_yaml(name: str, text: str, tmp_path: Path) -> None:
    book = {"from": "book", "file": name.replace("_", ".")}
    spec = read_info(game(tmp_path, book, **{name: text}))

    check_openings(spec)
    assert {opening_of(spec, seed) for seed in range(20)} == {(3, 3), (2, 4, 4)}


def test_rules_without_an_open_position_are_told_and_not_tried_for_ever(tmp_path: Path) -> None:
    spec = read_info(game(tmp_path, {"plies": 2, "decided": "always:decided"}))
    (tmp_path / "my_game" / "always.py").write_text("def decided(environment):\n    return True\n")

    with pytest.raises(NoOpening, match=r"my_game/info.yml: openings: no opening .* was found in 1000 draws"):
        opening_of(spec, 1)


@pytest.mark.parametrize(
    ("earlier", "complaint"),
    [
        ([1], "earlier: must be a mapping of versions"),
        ({2: {}}, "earlier: 2: must lie between 1 and 1"),
        ({1: {"slug": "other"}}, "earlier: 1: slug: an earlier version cannot change this key"),
        ({1: {"seats": 0}}, "earlier: 1: seats: must be at least 1"),
        ({1: {"colour": 1}}, "earlier: 1: colour: there is no such key"),
    ],
    ids=str,
)
def test_earlier_versions_that_make_no_sense_are_refused(earlier: object, complaint: str, tmp_path: Path) -> None:
    path = game(tmp_path, {"plies": 2})
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "earlier": earlier}))

    with pytest.raises(BadInfo) as refused:
        read_info(path)
    assert complaint in str(refused.value)
