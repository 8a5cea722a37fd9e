"""The wire: the documented examples, both implementations against each other, and bytes of hostile players."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import WIRE_BYTES, WIRE_CODES, ActionArraySpec, ArraySpec
from arena_kit.referee.match import Match
from arena_kit.referee.wire import (
    MAX_ANSWER_BYTES,
    Answer,
    Decoder,
    Encoder,
    Kind,
    ProtocolViolation,
    Question,
    hello,
)
from arena_kit.tests.fake import action, done, frame, ready, text_answer
from arena_kit.text import plain_text

ROOT = Path(__file__).resolve().parents[3]
SPEC = get_spec("tic-tac-toe-v1")
ENCODER = Encoder(SPEC.observation, SPEC.action_count)


MATCH = Match(SPEC, ENCODER, number=1, seed=7, seats=(0, 1), bank=1.0)


def question(
    kind: Kind, number: int, sequence: int, observation: list[int], valid: tuple[int, ...] = (), reward: float = 0.0
) -> Question:
    return Question(number, kind, sequence, reward, valid, ENCODER.observation(observation), MATCH, 0)


def documented(name: str) -> bytes:
    text = (ROOT / "docs" / "reference" / "protocol.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"```hex {name}\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 1, f"one example of {name} is expected"
    return bytes.fromhex(blocks[0])


PENDULUM = get_spec("pendulum")
REQUESTS = {
    "hello_array": hello(
        environment=PENDULUM.id,
        observation=PENDULUM.observation,
        action_count=PENDULUM.action_count,
        action=PENDULUM.action,
        parallel_matches=32,
    ),
    "hello": hello(
        environment="tic-tac-toe-v1", observation=ArraySpec((10,)), action_count=9, parallel_matches=32
    ),
    "questions": ENCODER.questions([
        question(Kind.START, 2, 0, [0] * 4 + [1] + [0] * 4 + [-1], (0, 1, 2, 3, 5, 6, 7, 8), reward=1.0),
        question(Kind.STEP, 1, 1, [1, 0, 0, 0, -1, 0, 0, 0, 0, 1], (1, 2, 3, 5, 6, 7, 8)),
        question(Kind.END, 3, 3, [1, 1, 1, -1, -1, 0, 0, 0, 0, -1], reward=1.0),
    ]),
}  # fmt: skip
ANSWERS: dict[str, Answer | dict[str, Any]] = {
    "ready": {"protocol": 2, "parallel_matches": 32, "form": "player", "numpy": True},
    "action": Answer(Kind.ACTION, 1, 0, 4),
    "done": Answer(Kind.DONE, 1, 3),
    "error": Answer(Kind.ERROR, 1, 1, text="ValueError: no move"),
    "invalid": Answer(Kind.INVALID, 1, 1, text="The action must be an integer, not float."),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_documented_requests_are_what_the_referee_sends(name: str) -> None:
    assert documented(name).hex(" ") == REQUESTS[name].hex(" ")


def test_the_documented_array_action_is_what_the_referee_understands() -> None:
    assert list(Decoder(PENDULUM.action).feed(documented("action_array"))) == [
        Answer(Kind.ACTION, 1, 0, struct.pack("<f", -0.5))
    ]


@pytest.mark.parametrize("name", ANSWERS)
def test_documented_answers_are_what_the_referee_understands(name: str) -> None:
    assert list(Decoder().feed(documented(name))) == [ANSWERS[name]]


def test_the_documented_fault_codes_are_those_of_the_referee() -> None:
    from arena_kit.referee.faults import PlayerFault

    text = (ROOT / "docs" / "reference" / "referee.md").read_text(encoding="utf-8")
    table = text.partition("## What goes wrong")[2].partition("## Seeds")[0]
    assert {fault.value for fault in PlayerFault} == set(re.findall(r"`([a-z]+_[a-z_]+)`", table)) - {
        "max_restarts",
        "duel_seconds",
        "forfeit_score",
        "prev_reward",
        "start_seconds",
        "validation_seconds",
        "validation_time_exhausted",  # a fault of validations, not of the referee
    }


@pytest.mark.parametrize("values", [[0] * 9, [0] * 11, [0] * 9 + [128], [0.5] * 10])
def test_an_observation_that_does_not_fit_its_spec_is_refused(values: list[float]) -> None:
    with pytest.raises(struct.error):
        ENCODER.observation(values)


@given(st.lists(st.binary(max_size=200), max_size=8))
def test_random_bytes_raise_nothing_but_protocol_violation(chunks: list[bytes]) -> None:
    decoder = Decoder()
    outcome = "fine"
    try:
        for chunk in chunks:
            for answer in decoder.feed(chunk):
                assert isinstance(answer, (Answer, dict))
    except ProtocolViolation as violation:
        outcome = violation.code
    assert outcome in ("fine", "malformed_answer", "oversized_answer")


@given(st.sampled_from([129, 130, 131, 132, 133]), st.binary(max_size=300))
def test_frames_of_known_kind_with_random_payload_raise_nothing_but_protocol_violation(
    kind: int, payload: bytes
) -> None:
    code, answers = "fine", []
    try:
        answers = list(Decoder().feed(frame(kind, payload)))
    except ProtocolViolation as violation:
        code = violation.code
    assert (code, len(answers)) in {("fine", 1), ("malformed_answer", 0)}


@given(st.data())
def test_answers_are_the_same_however_their_bytes_are_cut(data: st.DataObject) -> None:
    stream = ready(7) + action(1, 0, 5) + text_answer(Kind.ERROR, 2, 4, "böse") + done(3, 9) + action(4, 1, -(2**63))
    whole = list(Decoder().feed(stream))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))

    decoder = Decoder()
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert [answer for piece in pieces for answer in decoder.feed(piece)] == whole
    assert len(whole) == 5


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ((MAX_ANSWER_BYTES + 1).to_bytes(4, "little") + b"\x82", "oversized_answer"),
        (b"\xff\xff\xff\xff\x82", "oversized_answer"),
        (b"\0\0\0\0\0", "malformed_answer"),
        (frame(2, b"\0" * 20), "malformed_answer"),
        (frame(130, b"\0" * 15), "malformed_answer"),
        (frame(130, b"\0" * 17), "malformed_answer"),
        (frame(131, b"\0" * 9), "malformed_answer"),
        (frame(132, b"\0" * 7), "malformed_answer"),
        (frame(129, b"[1]"), "malformed_answer"),
        (frame(129, b"{"), "malformed_answer"),
        (frame(129, b"[" * 60000), "malformed_answer"),
        (frame(129, b'{"parallel_matches": ' + b"9" * 50000 + b"}"), "malformed_answer"),
    ],
)
def test_bad_frames_are_refused_with_a_code(data: bytes, code: str) -> None:
    with pytest.raises(ProtocolViolation) as violation:
        list(Decoder().feed(data))
    assert violation.value.code == code


def test_answers_before_a_bad_frame_are_kept() -> None:
    answers = Decoder().feed(action(1, 0, 2) + b"\0\0\0\0\0")
    first = next(answers)
    with pytest.raises(ProtocolViolation):
        next(answers)
    assert first == Answer(Kind.ACTION, 1, 0, 2)


def test_texts_lose_control_characters_but_keep_their_lines() -> None:
    assert plain_text("a\x00b\x1b[31mc\r\n\td\x9f\ud800ü") == "ab[31mc\n\tdü"


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(-(2**63), 2**63 - 1))
def test_actions_survive_the_wire(match: int, sequence: int, value: int) -> None:
    assert list(Decoder().feed(action(match, sequence, value))) == [Answer(Kind.ACTION, match, sequence, value)]


def test_hello_carries_the_environments_figures() -> None:
    payload = json.loads(REQUESTS["hello"][5:])
    assert payload["observation"] == {"dtype": "int64", "shape": [10], "wire": "int8"}
    assert payload["actions"] == {"count": 9, "wire": "int8"}
    assert payload["parallel_matches"] == 32


# --- Arrays ----------------------------------------------------------------------------------------------


def array_action(match: int, sequence: int, raw: bytes) -> bytes:
    return frame(Kind.ACTION, struct.pack("<II", match, sequence) + raw)


@pytest.mark.parametrize("wire", sorted(WIRE_BYTES))
@pytest.mark.parametrize("shape", [(1,), (17,), (2, 3)])
def test_array_actions_of_every_type_come_as_their_raw_values(wire: str, shape: tuple[int, ...]) -> None:
    spec = ActionArraySpec(shape, wire=wire)
    raw = bytes(number % 251 for number in range(spec.byte_count))
    stream = b"".join(array_action(number, 3 * number, raw) for number in range(1, 6)) + done(9, 9)

    assert list(Decoder(spec).feed(stream)) == [
        *(Answer(Kind.ACTION, number, 3 * number, raw) for number in range(1, 6)),
        Answer(Kind.DONE, 9, 9),
    ]


@given(st.data())
def test_array_actions_are_the_same_however_their_bytes_are_cut(data: st.DataObject) -> None:
    spec = ActionArraySpec((3,))
    raws = data.draw(st.lists(st.binary(min_size=12, max_size=12), max_size=6))
    stream = ready(7) + b"".join(array_action(number, 0, raw) for number, raw in enumerate(raws)) + done(3, 9)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))

    decoder = Decoder(spec)
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    answers = [answer for piece in pieces for answer in decoder.feed(piece)]

    assert answers == list(Decoder(spec).feed(stream))
    assert [answer.action for answer in answers if isinstance(answer, Answer)][:-1] == raws


@pytest.mark.parametrize("size", [0, 4, 8, 11, 13, 24])
def test_an_array_action_of_another_size_is_malformed(size: int) -> None:
    with pytest.raises(ProtocolViolation, match="An action must have 12 bytes") as caught:
        list(Decoder(ActionArraySpec((3,))).feed(array_action(1, 0, bytes(size))))

    assert caught.value.code == "malformed_answer"


def test_an_array_action_may_be_larger_than_any_other_answer_and_not_a_byte_more() -> None:
    spec = ActionArraySpec((100, 200), wire="float64")
    raw = bytes(spec.byte_count)

    (answer,) = Decoder(spec).feed(array_action(1, 0, raw))
    assert isinstance(answer, Answer)
    assert answer.action == raw
    with pytest.raises(ProtocolViolation, match="is too large") as caught:
        list(Decoder(spec).feed(array_action(1, 0, raw + b"\0")))
    assert caught.value.code == "oversized_answer"


@given(st.lists(st.binary(max_size=200), max_size=8))
def test_random_bytes_where_arrays_are_due_raise_nothing_but_protocol_violation(chunks: list[bytes]) -> None:
    decoder = Decoder(ActionArraySpec((3,)))
    outcome = "fine"
    try:
        for chunk in chunks:
            assert all(isinstance(answer, (Answer, dict)) for answer in decoder.feed(chunk))
    except ProtocolViolation as violation:
        outcome = violation.code
    assert outcome in ("fine", "malformed_answer", "oversized_answer")


@pytest.mark.parametrize("wire", sorted(WIRE_BYTES))
def test_raw_observations_go_out_as_they_are_and_only_in_the_right_size(wire: str) -> None:
    spec = ArraySpec((2, 3), wire=wire)
    encoder = Encoder(spec, 0)
    raw = struct.pack(f"<6{WIRE_CODES[wire]}", *range(6))

    assert encoder.observation(raw) == encoder.observation([0, 1, 2, 3, 4, 5]) == raw
    for wrong in (raw[:-1], raw + b"\0"):
        # Bytes of another size are read as that many numbers.
        with pytest.raises(struct.error):
            encoder.observation(wrong)


def test_questions_where_actions_are_arrays_have_no_valid_actions() -> None:
    encoder = Encoder(ArraySpec((2,), wire="float32"), 0)
    batch = [Question(7, Kind.STEP, 3, 0.5, (), encoder.observation([1.5, -2.5]), MATCH, 0)]

    payload = encoder.questions(batch)[5:]

    assert struct.unpack("<IdIIIBff", payload) == (1, 0.5, 7, 3, 0, Kind.STEP, 1.5, -2.5)


def test_a_referee_of_numbers_says_nothing_of_arrays() -> None:
    greeting = hello(environment="a-v1", observation=ArraySpec((1,)), action_count=300, parallel_matches=1)

    assert json.loads(greeting[5:])["actions"] == {"count": 300, "wire": "int32"}
