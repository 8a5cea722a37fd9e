from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.environment.protocol import Action, Observation
from arena_kit.environment.records import MatchRecord, Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay_file.document import (
    SCHEMA,
    ReplayOptions,
    document_bytes,
    replay_document,
)
from arena_kit.environment.replay_file.facts import Played, ReplayAgent, ReplayFacts
from arena_kit.environment.replay_file.views import NotDrawable, frame_views
from arena_kit.environment.spec import ArraySpec, EnvironmentSpec
from arena_kit.tests.environment.playing import GAMES, TASKS, episode, installed, match_record

VALID = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
TWO = ReplayFacts("duel-1-match-2", (ReplayAgent("7", "anna v1", 1), ReplayAgent("9", "berta v2", 2)))
ALONE = ReplayFacts("evaluation-1-episode-1", (ReplayAgent("7", "anna v1", 1),))
TIC_TAC_TOE = get_spec("tic-tac-toe")


class Coins:
    """Both seats show a coin at once, three times; who guesses the other's gets it."""

    def reset(self, seed: int) -> None:
        self.to_move: tuple[int, ...] = (0, 1)
        self.truncated = False
        self._shown: list[tuple[int, int]] = []

    def observe(self, seat: int) -> Observation:
        return Observation([len(self._shown), float("inf")], (0, 1) if self.to_move else ())

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        first, second = actions[0], actions[1]
        assert isinstance(first, int)
        assert isinstance(second, int)
        self._shown.append((first, second))
        if len(self._shown) == 3:
            self.to_move, self.truncated = (), True
        return (1.0, -1.0) if first == second else (-1.0, 1.0)

    def frame(self) -> dict[str, Any]:
        return {"shown": [list(pair) for pair in self._shown], "odd": float("nan")}

    def text(self) -> str:
        return f"{len(self._shown)} coins shown."


def drawn(frame: Mapping[str, Any]) -> str:
    return '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><title>Coins</title></svg>'


COINS = dataclasses.replace(
    TIC_TAC_TOE,
    slug="coins",
    entry_point=f"{__name__}:Coins",
    renderer=f"{__name__}:drawn",
    move_words="",
    observation=ArraySpec((2,), "float64", "float64"),
    action_count=2,
    max_steps=3,
)
SHOWN = MatchRecord(2, 5, (1, 0), (0, 0, 1, 1, 0, 1), Outcome.PLAYER_2, (-1.0, 1.0))
"""The pairs of coins are equal twice; player 2 sits on the first seat and wins."""


def written(spec: EnvironmentSpec, record: Played, facts: ReplayFacts, **options: Any) -> dict[str, Any]:
    """Return the document as a program reads it; it must fit the schema."""
    document: dict[str, Any] = json.loads(
        document_bytes(replay_document(spec, record, facts, ReplayOptions(**options)))
    )
    VALID.validate(document)
    return document


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: str(spec.id))
def test_every_game_has_a_document_that_fits_the_schema(spec: EnvironmentSpec) -> None:
    record = match_record(spec, 2, seed=3)

    document = written(spec, record, TWO)

    metadata, frames = document["metadata"], document["frames"]
    assert metadata["environment_version"] == spec.id
    assert [agent["seat"] for agent in metadata["agents"]] == [1, 0]
    movers = 2 if spec.slug == "pong" else 1
    assert metadata["total_steps"] == len(record.actions) // movers == len(frames) - 1
    assert metadata["scores"] == dict(zip(("7", "9"), record.scores, strict=True))
    assert metadata["winner"] == {Outcome.PLAYER_1: "7", Outcome.PLAYER_2: "9", Outcome.DRAW: None}[record.outcome]
    assert [frame["done"] for frame in frames] == [False] * (len(frames) - 1) + [True]
    assert frames[1]["actions"] == dict(zip(("9", "7"), record.actions[:movers], strict=False))
    for key in ("7", "9"):
        assert sum(frame["rewards"].get(key, 0.0) for frame in frames) == metadata["scores"][key]
        assert all(shape(frame["observations"][key]) == spec.observation.shape for frame in frames)


def test_a_document_tells_how_long_each_move_took_where_the_record_does() -> None:
    timed = dataclasses.replace(SHOWN, opening_count=2, move_ms=((12,), ()))
    frames = written(COINS, timed, TWO)["frames"]

    # Player 2, who sits first, made no long move; the second move of player 1 is one that the record does not tell.
    assert [frame.get("move_ms") for frame in frames] == [None, None, {"9": 0, "7": 12}, {"9": 0, "7": 0}]
    assert all("move_ms" not in frame for frame in written(COINS, SHOWN, TWO)["frames"])
    assert all("move_ms" not in frame for frame in written(COINS, timed, TWO, include_actions=False)["frames"])
    assert [view.move_ms for view in frame_views(COINS, timed, TWO.names)] == [(), (None, None), (0, 12), (0, 0)]


def shape(value: Any) -> tuple[int, ...]:
    return (len(value), *shape(value[0])) if isinstance(value, list) else ()


@pytest.mark.parametrize("spec", TASKS, ids=lambda spec: str(spec.id))
def test_every_task_has_a_document_that_fits_the_schema(spec: EnvironmentSpec) -> None:
    short = dataclasses.replace(installed(spec), max_steps=min(spec.max_steps, 25))
    actions, rewards = episode(short, seed=4)
    record = EpisodeRecord(1, 4, tuple(actions), sum(rewards), truncated=False)  # type: ignore[arg-type]  # one kind

    document = written(short, record, ALONE, max_frames=12)

    assert document["metadata"]["winner"] is None
    assert document["metadata"]["total_steps"] == record.length
    assert document["truncated"] == (record.length > 11)
    assert shape(document["frames"][-1]["observations"]["7"]) == spec.observation.shape
    assert shape(document["frames"][1]["actions"]["7"]) == (spec.action.shape if spec.action else ())


def test_moves_at_once_belong_to_one_step_and_to_who_made_them() -> None:
    document = written(COINS, SHOWN, TWO)

    assert document["metadata"]["total_steps"] == 3
    assert [frame["actions"] for frame in document["frames"]] == [
        {}, {"9": 0, "7": 0}, {"9": 1, "7": 1}, {"9": 0, "7": 1}
    ]  # fmt: skip
    assert document["frames"][3]["rewards"] == {"9": -1.0, "7": 1.0}
    assert document["frames"][3]["info"] == {"text": "3 coins shown.", "truncated": True}
    assert frame_views(COINS, SHOWN, TWO.names)[0].caption == "Start. Both players move at once"
    assert frame_views(COINS, SHOWN, TWO.names)[1].caption == "berta v2 played 0; anna v1 played 0"


def test_numbers_that_are_not_finite_are_null() -> None:
    frame = written(COINS, SHOWN, TWO)["frames"][1]

    assert frame["frame"]["odd"] is None
    assert frame["observations"] == {"9": [1.0, None], "7": [1.0, None]}


def test_equal_records_give_equal_bytes() -> None:
    record = match_record(TIC_TAC_TOE, 2, seed=3)
    one, other = (replay_document(TIC_TAC_TOE, record, TWO) for _ in range(2))

    assert document_bytes(one) == document_bytes(other)
    assert document_bytes(one, compress=True) == document_bytes(other, compress=True)
    assert gzip.decompress(document_bytes(one, compress=True)) == document_bytes(one)


def test_observations_and_actions_can_be_left_out() -> None:
    record = match_record(TIC_TAC_TOE)

    document = written(TIC_TAC_TOE, record, TWO, include_observations=False, include_actions=False)

    assert document["metadata"]["observations"] == "left out"
    assert all(frame["observations"] == {} == frame["actions"] for frame in document["frames"])


def test_observations_that_would_fill_a_disk_are_left_out_and_the_document_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("arena_kit.environment.replay_file.document.MAX_OBSERVED_VALUES", 50)

    document = written(TIC_TAC_TOE, match_record(TIC_TAC_TOE), TWO)

    assert document["metadata"]["observations"] == "too many"
    assert document["frames"][1]["observations"] == {}


def test_a_long_match_is_cut_and_says_so() -> None:
    record = match_record(TIC_TAC_TOE)

    document = written(TIC_TAC_TOE, record, TWO, max_frames=3)

    assert document["truncated"] is True
    assert [frame["frame_number"] for frame in document["frames"]] == [0, 1, 2]
    assert not document["frames"][-1]["done"]
    assert document["metadata"]["total_steps"] == len(record.actions)
    assert written(TIC_TAC_TOE, record, TWO)["truncated"] is False


@pytest.mark.parametrize(("code", "status"), [("player_raised", "error"), ("player_timed_out", "timeout")])
def test_a_forfeit_tells_its_sentence_and_not_the_source(code: str, status: str) -> None:
    record = dataclasses.replace(match_record(TIC_TAC_TOE, forfeits=1), error_code=code)

    document = written(TIC_TAC_TOE, record, TWO)

    assert (document["metadata"]["status"], document["metadata"]["error_code"]) == (status, code)
    assert document["metadata"]["winner"] == "7"
    assert "KeyError" in document["metadata"]["error"]
    assert "Traceback" not in json.dumps(document)
    assert document["frames"][-1]["done"]


def test_players_of_one_agent_are_told_apart() -> None:
    both = ReplayFacts("validation-1-match-1", (ReplayAgent("7", "anna v1 (player 1)"), ReplayAgent("7", "anna v1")))

    document = written(TIC_TAC_TOE, match_record(TIC_TAC_TOE), both)

    assert [agent["agent_id"] for agent in document["metadata"]["agents"]] == ["7:1", "7:2"]
    assert set(document["frames"][0]["observations"]) == {"7:1", "7:2"}


def test_names_lose_what_turns_or_hides_text_around_them() -> None:
    hostile = ReplayFacts("x", (ReplayAgent("a", "\u202eanna\u2066\x1b[31m\ud800"), ReplayAgent("b", "\u200b")))

    document = written(TIC_TAC_TOE, match_record(TIC_TAC_TOE), hostile)

    assert [agent["name"] for agent in document["metadata"]["agents"]] == ["anna[31m?", "player 2"]


def test_an_opening_is_marked_where_the_record_has_one() -> None:
    record = match_record(TIC_TAC_TOE)
    count = record.opening_count
    assert count

    frames = written(TIC_TAC_TOE, record, TWO)["frames"]
    views = frame_views(TIC_TAC_TOE, record, TWO.names)

    marks = [False, *[True] * count, False]
    assert [frame.get("opening", False) for frame in frames][: count + 2] == marks
    assert [view.is_opening for view in views][: count + 2] == marks
    assert views[1].caption.startswith("Opening for ")


@pytest.mark.parametrize("fields", [{"actions": (4, 4)}, {"actions": (99,)}, {"seats": (0, 0)}])
def test_a_record_that_does_not_fit_its_rules_is_a_typed_error(fields: dict[str, Any]) -> None:
    damaged = dataclasses.replace(match_record(TIC_TAC_TOE), **fields)

    with pytest.raises(NotDrawable, match="does not fit its rules"):
        replay_document(TIC_TAC_TOE, damaged, TWO)
    with pytest.raises(NotDrawable, match="does not fit its rules"):
        frame_views(TIC_TAC_TOE, damaged, TWO.names)
