"""What the player server makes of the referee's questions, without a container."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from builder.image.player_server import serving
from duel_runner.match import Match
from duel_runner.protocol import TYPECODES, Answer, Decoder, Encoder, Kind, Question, hello
from environments.registry import get_spec
from environments.spec import ArraySpec

serving.import_numpy()
SPEC = get_spec("tic-tac-toe")
ENCODER = Encoder(SPEC.observation, SPEC.action_count)
MATCH = Match(SPEC, ENCODER, number=1, seed=7, seats=(0, 1), bank=1.0)


def question(
    kind: Kind, number: int, sequence: int, observation: list[int], valid: tuple[int, ...] = (), reward: float = 0.0
) -> Question:
    return Question(number, kind, sequence, reward, valid, ENCODER.observation(observation), MATCH, 0)


class Wire:
    """Keeps what a server sends."""

    def __init__(self) -> None:
        self.sent = bytearray()

    def sendall(self, data: bytes) -> None:
        self.sent += data


def server(spec: ArraySpec, action_count: int, player: Any = None) -> serving.Server:
    """A server that has been greeted."""
    made = serving.Server(Wire(), "player", lambda _: player, player, 4)  # type: ignore[arg-type]
    greeting = hello(environment="a-v1", observation=spec, action_count=action_count, parallel_matches=4)
    made.greet(json.loads(greeting[5:]))
    made.out.clear()
    return made


def columns(wire: str = "int8", shape: tuple[int, ...] = (2, 3)) -> tuple[Any, ...]:
    """What a server makes of two questions, one of them without valid actions."""
    spec = ArraySpec(shape, dtype="float64", wire=wire)
    encoder = Encoder(spec, 300)
    values = encoder.observation([0, 1, 2, 3, 4, 5])
    batch = [
        Question(9, Kind.STEP, 4, 0.5, (7, 299), values, MATCH, 0),
        Question(8, Kind.END, 2, -1.0, (), values, MATCH, 0),
    ]
    return server(spec, 300).columns(encoder.questions(batch)[4:])


@pytest.mark.parametrize("wire", sorted(TYPECODES))
def test_player_server_reads_every_type_of_observation_as_the_environments_own(wire: str) -> None:
    rewards, matches, sequences, counts, kinds, valid, states = columns(wire)

    assert [list(column) for column in (rewards, matches, sequences, counts, kinds)] == [
        [0.5, -1.0], [9, 8], [4, 2], [2, 0], [Kind.STEP, Kind.END],
    ]  # fmt: skip
    assert (valid.dtype, valid.tolist(), valid.flags.writeable) == (np.int64, [7, 299], True)
    for state in states:
        assert (state.dtype, state.tolist(), state.flags.writeable) == (np.float64, [[0, 1, 2], [3, 4, 5]], True)


def test_player_server_gives_lists_where_numpy_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "numpy", None)

    *_, valid, states = columns(shape=(6,))

    assert (valid, states) == ([7, 299], [[0, 1, 2, 3, 4, 5]] * 2)


def test_a_large_observation_keeps_no_other_alive() -> None:
    spec = ArraySpec((100, 100), dtype="float64", wire="uint8")
    encoder = Encoder(spec, 4)
    values = encoder.observation([1] * 10_000)
    batch = [Question(number, Kind.STEP, 0, 0.0, (0,), values, MATCH, 0) for number in (1, 2)]

    *_, states = server(spec, 4).columns(encoder.questions(batch)[4:])

    assert [(state.base, state.sum()) for state in states] == [(None, 10_000.0)] * 2


def test_player_server_answers_every_question_of_a_frame_in_its_order() -> None:
    class Odd:
        def start(self, state: Any, valid: Any) -> Any:
            return valid[-1]

        def step(self, state: Any, valid: Any, reward: float) -> Any:
            return {1: np.int64(3), 2: 2.5}[len(valid)] if reward else 1 / 0

        def end(self, state: Any, reward: float) -> None:
            self.ended = True

    player = Odd()
    answering = server(SPEC.observation, SPEC.action_count, player)
    board = [0] * 10
    answering.answer(
        ENCODER.questions([
            question(Kind.START, 1, 0, board, (4, 5)),
            question(Kind.STEP, 1, 1, board, (3,), reward=1.0),
            question(Kind.STEP, 1, 2, board, (3, 4), reward=1.0),
            question(Kind.STEP, 1, 3, board, (3,)),
            question(Kind.END, 1, 4, board),
        ])[4:]
    )  # fmt: skip
    answering.flush()

    assert isinstance(answering.wire, Wire)
    answers = [answer for answer in Decoder().feed(bytes(answering.wire.sent)) if isinstance(answer, Answer)]
    assert [(answer.kind, answer.sequence, answer.action) for answer in answers] == [
        (Kind.ACTION, 0, 5), (Kind.ACTION, 1, 3), (Kind.INVALID, 2, 0), (Kind.ERROR, 3, 0), (Kind.DONE, 4, 0),
    ]  # fmt: skip
    assert answers[3].text.startswith("ZeroDivisionError: division by zero\n")
    assert answering.idle == [player]


@pytest.mark.parametrize("value", [3, np.int8(3), np.int64(3), np.uint16(3)])
def test_integers_of_python_and_numpy_are_actions(value: Any) -> None:
    assert serving.action_of(value) == 3


@pytest.mark.parametrize(
    "value", [True, np.True_, 3.0, np.float32(3), "3", None, [3], np.array([3]), np.array(3), 2**63, -(2**63) - 1]
)
def test_everything_else_is_no_action(value: Any) -> None:
    with pytest.raises(serving.BadAction, match="action"):
        serving.action_of(value)
