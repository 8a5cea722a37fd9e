"""What the player server makes of the referee's questions, without a container."""

from __future__ import annotations

import enum
import json
from typing import Any

import numpy as np
import pytest

from arena_kit.contract import BadAction, action_of
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import WIRE_CODES, ActionArraySpec, ArraySpec
from arena_kit.referee.match import Match
from arena_kit.referee.wire import Answer, Decoder, Encoder, Kind, Question, hello
from arena_kit.sandbox.inside.player_server import serving

serving.import_numpy()


class Move(enum.IntEnum):
    DROP = 3


class Tensor:
    """A number as PyTorch holds it."""

    def __init__(self, value: float) -> None:
        self._value = value

    def item(self) -> float:
        return self._value


SPEC = get_spec("tic-tac-toe-v1")
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
    return server(spec, 300).columns(encoder.questions(batch)[5:])


@pytest.mark.parametrize("wire", sorted(WIRE_CODES))
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

    *_, states = server(spec, 4).columns(encoder.questions(batch)[5:])

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
        ])[5:]
    )  # fmt: skip
    answering.flush()

    assert isinstance(answering.wire, Wire)
    answers = [answer for answer in Decoder().feed(bytes(answering.wire.sent)) if isinstance(answer, Answer)]
    assert [(answer.kind, answer.sequence, answer.action) for answer in answers] == [
        (Kind.ACTION, 0, 5), (Kind.ACTION, 1, 3), (Kind.INVALID, 2, 0), (Kind.ERROR, 3, 0), (Kind.DONE, 4, 0),
    ]  # fmt: skip
    assert answers[3].text.startswith("ZeroDivisionError: division by zero\n")
    assert answering.idle == [player]


@pytest.mark.parametrize("value", [
    3, np.int8(3), np.int64(3), np.uint16(3), np.array(3), np.array([3]), np.array([[3]]), [3], (3,), [np.int64(3)],
    np.array([3], dtype=object), Move.DROP, Tensor(3),
])  # fmt: skip
def test_one_integer_of_any_library_is_an_action(value: Any) -> None:
    action = action_of(value)
    assert (action, type(action)) == (3, int)


@pytest.mark.parametrize(
    "value",
    [
        True, np.True_, 3.0, np.float32(3), "3", None, 2**63, -(2**63) - 1, [], [3, 4], (3, None), [[3]], ["3"], [3.0],
        np.array([]), np.array([3, 4]), np.array(3.0), np.array([True]), np.array("3"), Tensor(3.5), {3}, {"action": 3},
    ],
)  # fmt: skip
def test_everything_else_is_no_action(value: Any) -> None:
    with pytest.raises(BadAction, match="action"):
        action_of(value)


# --- Actions that are arrays -----------------------------------------------------------------------------

GOOD_ARRAYS: list[tuple[Any, tuple[int, ...], str, list[float]]] = [
    (np.array([0.5, -1.5]), (2,), "float32", [0.5, -1.5]),
    (np.array([[0.5], [-1.5]], "float32"), (2,), "float64", [0.5, -1.5]),
    ([0.5, -1.5], (2,), "float32", [0.5, -1.5]),
    ((1, True), (2,), "float32", [1.0, 1.0]),
    (0.25, (1,), "float32", [0.25]),
    (np.float64(0.25), (1,), "float32", [0.25]),
    (np.arange(6).reshape(2, 3), (2, 3), "int8", [0, 1, 2, 3, 4, 5]),
    ([[0, 1, 2], [3, 4, 5]], (2, 3), "uint8", [0, 1, 2, 3, 4, 5]),
    (np.array([True, False]), (2,), "int8", [1, 0]),
    (np.array([1, 2], "uint64"), (2,), "int16", [1, 2]),
    (np.array([1.0, 2.0, 3.0, 4.0])[::2], (2,), "float32", [1.0, 3.0]),
    (np.array([1, 2], ">i4"), (2,), "int32", [1, 2]),
]


@pytest.mark.parametrize(("value", "shape", "wire", "expected"), GOOD_ARRAYS)
def test_an_array_goes_out_as_raw_values(
    value: object, shape: tuple[int, ...], wire: str, expected: list[float]
) -> None:
    raw = serving.array_of(value, shape, wire)

    assert np.frombuffer(raw, np.dtype(wire).newbyteorder("<")).tolist() == expected


BAD_ARRAYS: list[tuple[Any, tuple[int, ...], str, str]] = [
    (np.zeros(3), (2,), "float32", r"must have the shape \(2,\), that is 2 values, not 3"),
    ([], (2,), "float32", "not 0"),
    (0.5, (2,), "float32", "not 1"),
    ([[1, 2], [3]], (3,), "float32", "not an array of shape"),
    (["left", "right"], (2,), "float32", "must be an array of float32, not of <U5"),
    ([None, 1.0], (2,), "float32", "not of object"),
    (None, (1,), "float32", "not of object"),
    ({"torque": 1.0}, (1,), "float32", "not of object"),
    ([1j, 0], (2,), "float32", "not of complex128"),
    ([2**70, 0], (2,), "float32", "not of object"),
    ([0.0, 1.0], (2,), "int8", "must be an array of int8, not of float64"),
    ([0.5, 1.0], (2,), "int8", "not of float64"),
    ([0, 200], (2,), "int8", "holds a value that does not fit int8"),
    ([0, -1], (2,), "uint8", "holds a value that does not fit uint8"),
    (np.array([2**64 - 1, 0], "uint64"), (2,), "int64", "holds a value that does not fit int64"),
]


@pytest.mark.parametrize(("value", "shape", "wire", "sentence"), BAD_ARRAYS)
def test_what_is_no_such_array_is_no_action(value: object, shape: tuple[int, ...], wire: str, sentence: str) -> None:
    with pytest.raises(BadAction, match=sentence):
        serving.array_of(value, shape, wire)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 1e300])
def test_numbers_that_are_not_finite_are_left_to_the_referee(number: float) -> None:
    raw = serving.array_of(np.array([number]), (1,), "float32")

    assert not np.isfinite(np.frombuffer(raw, "<f4")).any()


@pytest.mark.parametrize(
    ("value", "wire", "expected"),
    [([0.5, -1.5], "float32", [0.5, -1.5]), ((1, 2), "int8", [1, 2]), ([1, True], "float64", [1.0, 1.0])],
)
def test_lists_are_arrays_where_numpy_is_missing(
    value: object, wire: str, expected: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "numpy", None)

    raw = serving.array_of(value, (2,), wire)

    assert np.frombuffer(raw, np.dtype(wire).newbyteorder("<")).tolist() == expected


@pytest.mark.parametrize(
    ("value", "wire", "sentence"),
    [
        ([0.5], "float32", r"must have the shape \(2,\), that is 2 values, not 1"),
        (0.5, "float32", "not 1"),
        ([[0.5, 1.0]], "float32", "must be a flat list of 2 numbers"),
        ("ab", "float32", "must be a flat list of 2 numbers"),
        ([0.5, 1.0], "int8", "must be a flat list of 2 numbers"),
        ([0, 200], "int8", "must be a flat list of 2 numbers"),
        ([0, None], "int8", "must be a flat list of 2 numbers"),
        ([10**400, 0], "float64", "must be a flat list of 2 numbers"),
    ],
)
def test_what_is_no_list_of_numbers_is_no_action_where_numpy_is_missing(
    value: object, wire: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "numpy", None)

    with pytest.raises(BadAction, match=sentence):
        serving.array_of(value, (2,), wire)


def test_player_server_answers_with_arrays_where_these_are_asked_for() -> None:
    class Torque:
        def start(self, state: Any, valid: Any) -> Any:
            return [0.5, len(valid)]

        def step(self, state: Any, valid: Any, reward: float) -> Any:
            return np.zeros(3) if reward else np.array([-0.5, 1.0])

        def end(self, state: Any, reward: float) -> None:
            raise RuntimeError("after the end")

    observation, action = ArraySpec((1,), "float64", "float64"), ActionArraySpec((2,))
    player = Torque()
    answering = serving.Server(Wire(), "player", lambda _: player, player, 4)  # type: ignore[arg-type]
    greeting = hello(environment="a-v1", observation=observation, action_count=0, action=action, parallel_matches=4)
    answering.greet(json.loads(greeting[5:]))
    answering.out.clear()
    encoder = Encoder(observation, 0)
    kinds = ((Kind.START, 0.0), (Kind.STEP, 0.0), (Kind.STEP, 1.0), (Kind.END, 1.0))
    batch = [
        Question(1, kind, sequence, reward, (), encoder.observation([0.5]), MATCH, 0)
        for sequence, (kind, reward) in enumerate(kinds)
    ]

    answering.answer(encoder.questions(batch)[5:])
    answering.flush()

    assert isinstance(answering.wire, Wire)
    answers = [answer for answer in Decoder(action).feed(bytes(answering.wire.sent)) if isinstance(answer, Answer)]
    assert [(answer.kind, answer.sequence, answer.text.partition("\n")[0]) for answer in answers] == [
        (Kind.ACTION, 0, ""),
        (Kind.ACTION, 1, ""),
        (Kind.INVALID, 2, "The action must have the shape (2,), that is 2 values, not 3."),
        (Kind.ERROR, 3, "RuntimeError: after the end"),
    ]
    raws = [answer.action for answer in answers if isinstance(answer.action, bytes)]
    assert [np.frombuffer(raw, "<f4").tolist() for raw in raws] == [[0.5, 0.0], [-0.5, 1.0]]
