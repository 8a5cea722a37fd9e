"""`arena_kit.play`: objects of this process under the referee's rules, and what a notebook shows of the result."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arena_kit
from arena_kit.environment.openings import opening_of
from arena_kit.environment.records import record_sha256
from arena_kit.environment.registry import get_spec
from arena_kit.notebook import play as playing
from arena_kit.notebook.results import PlayedEpisodes, PlayedMatches
from arena_kit.opponents import UnknownOpponent
from arena_kit.tests.playing import play as play_folders

HOSTILE = "<script>alert(1)</script>\"'&"
FIRST = """
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions): return valid_actions[0]
    def step(self, state, valid_actions, prev_reward): return valid_actions[0]
    def end(self, state, prev_reward): pass
"""


def first(state: Any, valid_actions: Any) -> Any:
    return valid_actions[0]


def last(state: Any, valid_actions: Any) -> Any:
    return valid_actions[-1]


class Drawn:
    """Plays at random; `seed` repeats its moves."""

    def __init__(self, train_mode: bool, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)

    def start(self, state: Any, valid_actions: Any) -> Any:
        return self.random.choice(valid_actions)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any:
        return self.random.choice(valid_actions)

    def end(self, state: Any, prev_reward: float) -> None: ...


def duel(one: Any, two: Any, environment: str = "tic-tac-toe", *, matches: int = 6, seed: int = 0) -> PlayedMatches:
    found = arena_kit.play(one, two, environment, matches=matches, seed=seed, quiet=True)
    assert isinstance(found, PlayedMatches)
    return found


class Tags(HTMLParser):
    """The elements of a piece of HTML, and the sources of its frames."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.pages: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.pages += [value or "" for name, value in attrs if name == "srcdoc"]


def test_a_duel_of_two_functions_is_the_duel_of_the_same_players_in_folders() -> None:
    apart = play_folders({"player.py": FIRST}, {"player.py": FIRST}, environment="connect-four", matches=8)
    here = duel(first, first, environment="connect-four", matches=8, seed=apart.record.seed)
    assert record_sha256(here.record) == record_sha256(apart.record)
    one, two = here.record.matches[:2]
    assert one.seats == (0, 1)
    assert two.seats == (1, 0)
    assert one.seed == two.seed
    opening = opening_of(here.spec, one.seed)
    assert len(opening) == one.opening_count > 0
    assert one.actions[: len(opening)] == opening


def test_a_seed_repeats_the_play_of_players_with_chance() -> None:
    found = [record_sha256(duel(Drawn, "random", environment="connect-four", seed=seed).record) for seed in (3, 3, 4)]
    assert found[0] == found[1] != found[2]


class Bare:
    """Takes no `train_mode`."""

    def start(self, state: Any, valid_actions: Any) -> Any:
        return valid_actions[0]

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any:
        return valid_actions[0]

    def end(self, state: Any, prev_reward: float) -> None: ...


class Agent:
    """Another form that the arena takes."""

    def act(self, observation: Any, valid_actions: Any) -> Any:
        return valid_actions[0]


@pytest.mark.parametrize("kind", ["class", "object", "name", "folder", "bare", "agent"])
def test_players_come_in_every_form(kind: str, tmp_path: Path) -> None:
    (tmp_path / "player.py").write_text(FIRST)
    given = {
        "class": Drawn, "object": Drawn(False), "name": "minimax", "folder": tmp_path, "bare": Bare, "agent": Agent,
    }[kind]  # fmt: skip
    found = duel(given, last)
    assert found.record.summary.match_count == 6
    assert found.record.summary.errors == (0, 0)


def test_an_object_follows_one_match_at_a_time() -> None:
    class Counting(Drawn):
        running = most = 0

        def start(self, state: Any, valid_actions: Any) -> Any:
            self.running += 1
            self.most = max(self.most, self.running)
            return super().start(state, valid_actions)

        def end(self, state: Any, prev_reward: float) -> None:
            self.running -= 1

    counted = Counting(False)
    duel(counted, first, environment="connect-four", matches=10)
    assert (counted.most, counted.running) == (1, 0)


def raising(state: Any, valid_actions: Any) -> Any:
    raise ValueError(HOSTILE)


class Unmade:
    def __init__(self, train_mode: bool) -> None:
        raise RuntimeError(HOSTILE)

    def start(self, state: Any, valid_actions: Any) -> Any: ...

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any: ...


def leaving(state: Any, valid_actions: Any) -> Any:
    raise SystemExit


def interrupted(state: Any, valid_actions: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("player", "code"),
    [
        (raising, "player_raised"), (Unmade, "player_failed_to_start"), (lambda state, valid: 99, "illegal_action"),
        (lambda state, valid: "left", "illegal_action"), (leaving, "player_died"),
        (interrupted, "player_died"),
    ],
)  # fmt: skip
def test_a_fault_forfeits_the_match_and_its_text_harms_no_page(player: Any, code: str) -> None:
    before, player.__name__ = player.__name__, HOSTILE
    try:
        found = duel(first, player)
    finally:
        player.__name__ = before
    # One that dies again and again is not started again.
    assert {match.error_code for match in found.record.matches} <= {code, "too_many_restarts"}
    assert found.record.matches[0].error_code == code
    assert found.record.summary.errors == (0, 6)
    assert max(len(repr(shown)) for shown in (found, found.matches[0], found.matches[0].show())) < 500
    assert found.score.value == 1
    assert len(found.losses(2)) == 6
    assert found.losses() == ()
    shown = Tags(found._repr_html_()).names
    assert {"table", "img", "figure"} <= set(shown)
    assert not {"script", "iframe"} & set(shown)
    (page,) = Tags(found.matches[0].show()._repr_html_()).pages
    assert "alert(1)</script>" not in page


def test_a_player_that_hangs_loses_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = get_spec("tic-tac-toe")
    limits = replace(spec.limits, move_seconds=0.1, bank_seconds=0.0, max_restarts=0)
    monkeypatch.setattr(playing, "spec_from", lambda folder, name: replace(spec, limits=limits))
    free = threading.Event()
    found = duel(first, lambda state, valid: free.wait(60), matches=2)
    free.set()
    assert found.record.summary.errors == (0, 2)


def test_the_result_has_figures_and_a_table_that_pandas_takes() -> None:
    found = duel("minimax", "random", matches=10)
    (one, two) = found.table
    assert one["player"] == "minimax"
    assert one["won"] == two["lost"]
    assert set(one) == set(two)
    assert 0 <= found.score.low <= found.score.value <= found.score.high <= 1
    assert [match.number for match in found.matches] == list(range(1, 11))
    assert str(found).startswith("Tic-tac-toe: minimax scores ")
    with pytest.raises(ValueError, match="player must be 1 or 2"):
        found.losses(3)


def test_a_match_shows_its_replay_page_without_a_file(tmp_path: Path) -> None:
    match = duel(first, last).matches[3]
    (page,) = Tags(match.show()._repr_html_()).pages
    assert page == match.page
    assert page.startswith("<!doctype html>")
    assert match.save(tmp_path / "match.html").read_text() == page


def test_one_seat_is_an_evaluation_of_one_player() -> None:
    found = arena_kit.play(lambda state, valid: int(state[2] > 0), environment="cart-pole", matches=4, quiet=True)
    assert isinstance(found, PlayedEpisodes)
    assert [row["seed"] for row in found.table] == [0, 1, 2, 3]
    assert found.score is not None
    assert found.score.low <= found.score.value <= found.score.high
    assert all(match.record.score < found.score.value for match in found.losses())  # type: ignore[union-attr]
    assert "img" in Tags(found._repr_html_()).names
    broken = arena_kit.play(raising, environment="cart-pole", matches=2, quiet=True)
    assert "ValueError" in str(broken)
    assert "script" not in Tags(broken._repr_html_()).names


@pytest.mark.parametrize(
    ("players", "options", "sentence"),
    [
        ((first,), {"environment": "connect-four"}, "Connect Four has 2 seats: give two players"),
        ((first, last), {"environment": "cart-pole"}, "CartPole has 1 seat: give one player"),
        ((first, last), {"environment": "pong", "environments": "nowhere"}, "There is no folder nowhere"),
        ((first, last), {"environment": "pong", "matches": 0}, "a whole number of at least 1, not 0"),
        ((first, last), {"environment": "pong", "matches": "x"}, "a whole number of at least 1, not 'x'"),
        ((first, last), {"environment": "pong", "matches": True}, "a whole number of at least 1, not True"),
    ],
)
def test_what_cannot_be_played_is_refused(players: Any, options: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        arena_kit.play(*players, **options)


def test_an_unknown_player_is_named() -> None:
    with pytest.raises(UnknownOpponent, match="no opponent 'nobody'"):
        duel("nobody", first)


def test_plays_in_several_threads_do_not_disturb_each_other() -> None:
    found: dict[int, str] = {}

    def run(seed: int) -> None:
        found[seed] = record_sha256(duel(Drawn, "random", environment="connect-four", seed=seed).record)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {seed: record_sha256(duel(Drawn, "random", environment="connect-four", seed=seed).record)
                     for seed in range(4)}  # fmt: skip


def test_no_thread_is_left_when_a_duel_is_over() -> None:
    duel(first, last)
    until = time.monotonic() + 5
    while any(thread.name.startswith("player ") for thread in threading.enumerate()) and time.monotonic() < until:
        time.sleep(0.01)
    assert not [thread.name for thread in threading.enumerate() if thread.name in {"player first", "player last"}]


def test_a_result_is_a_value() -> None:
    found = duel(first, last)
    assert json.dumps(found.table)
    with pytest.raises(AttributeError):
        found.seconds = 1.0  # type: ignore[misc]
