"""Records of evaluations: written and read again, hashed, and refused when damaged."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.environment.episodes import (
    EpisodeRecord,
    EvaluationArchive,
    EvaluationRecord,
    evaluation_sha256,
    secret_order,
    write_evaluation,
)
from arena_kit.environment.record_archive import ArtifactDamaged

SECONDS = st.integers(0, 10**9).map(lambda micros: micros / 1_000_000)


@st.composite
def records(draw: st.DrawFn) -> EvaluationRecord:
    size = draw(st.sampled_from([0, 1, 8, 24]))
    action = st.binary(min_size=size, max_size=size) if size else st.integers(-(2**31), 2**31 - 1)
    episodes = tuple(
        EpisodeRecord(
            number=number,
            seed=draw(st.integers(0, 2**48)),
            actions=tuple(draw(st.lists(action, min_size=1, max_size=12))),  # type: ignore[arg-type]  # one kind
            score=draw(st.floats(allow_nan=False, allow_infinity=False)),
            truncated=draw(st.booleans()),
            thinking_seconds=draw(SECONDS),
            slowest_move_seconds=draw(SECONDS),
            cpu_seconds=draw(SECONDS),
        )
        for number in draw(st.lists(st.integers(1, 10**6), unique=True, max_size=5).map(sorted))
    )
    return EvaluationRecord("cart-pole-v1", "gymnasium 1.4.0", draw(st.text(max_size=20)), episodes)


def stored(record: EvaluationRecord) -> BytesIO:
    file = BytesIO()
    write_evaluation(record, file)
    return file


NUMBERS = EvaluationRecord(
    "frozen-lake-v1",
    "gymnasium 1.4.0",
    "anna v1",
    (
        EpisodeRecord(1, 11, (2, 1, 0), 1.0, False, 0.5, 0.25, 0.125),
        EpisodeRecord(3, 2**47, (3,), -0.5, True, 0.1, 0.1, 0.0),
    ),
)
ARRAYS = EvaluationRecord(
    "pendulum-v1", "", "anna v2", (EpisodeRecord(1, 5, (b"\0\0\x80?", b"\0\0\0\xc0"), -3.25, True),)
)


@given(records())
def test_what_is_written_is_read(record: EvaluationRecord) -> None:
    archive = EvaluationArchive(stored(record))

    assert archive.record() == record
    assert archive.numbers == tuple(episode.number for episode in record.episodes)
    for episode in record.episodes:
        assert archive.episode(episode.number) == episode


@given(records())
def test_equal_records_give_equal_bytes(record: EvaluationRecord) -> None:
    assert stored(record).getvalue() == stored(replace(record)).getvalue()


def test_an_episode_is_read_without_the_others() -> None:
    data = damaged(NUMBERS, "episodes/00001.bin", lambda content: b"")
    archive = EvaluationArchive(BytesIO(data))

    assert archive.episode(3) == NUMBERS.episodes[1]
    with pytest.raises(ArtifactDamaged, match="Episode 1"):
        archive.episode(1)


def test_an_episode_that_was_not_finished_is_not_there() -> None:
    with pytest.raises(LookupError, match="no finished episode 2"):
        EvaluationArchive(stored(NUMBERS)).episode(2)


# --- The hash --------------------------------------------------------------------------------------------


@given(records(), SECONDS)
def test_equal_play_gives_an_equal_hash_whatever_the_times_and_the_name(
    record: EvaluationRecord, seconds: float
) -> None:
    other = replace(
        record,
        player="another",
        episodes=tuple(
            replace(episode, thinking_seconds=seconds, slowest_move_seconds=seconds, cpu_seconds=seconds)
            for episode in record.episodes
        ),
    )

    assert evaluation_sha256(other) == evaluation_sha256(record)
    assert evaluation_sha256(EvaluationArchive(stored(record)).record()) == evaluation_sha256(record)


FIRST = NUMBERS.episodes[0]


def with_first(**changes: Any) -> EvaluationRecord:
    return replace(NUMBERS, episodes=(replace(FIRST, **changes), *NUMBERS.episodes[1:]))


CHANGES: dict[str, EvaluationRecord] = {
    "environment": replace(NUMBERS, environment="frozen-lake-v2"),
    "runtime": replace(NUMBERS, runtime="gymnasium 1.5.0"),
    "episodes": replace(NUMBERS, episodes=NUMBERS.episodes[:1]),
    "number": with_first(number=2),
    "seed": with_first(seed=12),
    "actions": with_first(actions=(2, 1, 1)),
    "score": with_first(score=0.5),
    "truncated": with_first(truncated=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_play_gives_another_hash(change: str) -> None:
    assert evaluation_sha256(CHANGES[change]) != evaluation_sha256(NUMBERS)


def test_the_hash_is_the_documented_one() -> None:
    actions = hashlib.sha256(b"\2\0\0\0\1\0\0\0\0\0\0\0").hexdigest()
    other = hashlib.sha256(b"\3\0\0\0").hexdigest()
    lines = [
        '["arena-evaluation",1,"frozen-lake-v1","gymnasium 1.4.0",2]',
        f'[1,11,"{actions}",3,1.0,false]',
        f'[3,{2**47},"{other}",1,-0.5,true]',
    ]

    assert evaluation_sha256(NUMBERS) == hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def test_zero_has_no_sign_and_a_numpy_number_is_a_number() -> None:
    plus, minus, numpys = (with_first(score=score) for score in (0.0, -0.0, np.float32(0.0)))

    assert evaluation_sha256(plus) == evaluation_sha256(minus) == evaluation_sha256(numpys)


# --- Damage ----------------------------------------------------------------------------------------------


def damaged(record: EvaluationRecord, name: str, change: Callable[[bytes], bytes | None]) -> bytes:
    """Return the artifact with one entry changed or left out."""
    file = BytesIO()
    with zipfile.ZipFile(stored(record)) as source, zipfile.ZipFile(file, "w") as target:
        for entry in source.namelist():
            content: bytes | None = source.read(entry)
            if entry == name:
                content = change(source.read(entry))
            if content is not None:
                target.writestr(entry, content)
    return file.getvalue()


def read_all(data: bytes) -> EvaluationRecord:
    return EvaluationArchive(BytesIO(data)).record()


def with_header(**values: Any) -> Callable[[bytes], bytes]:
    return lambda content: json.dumps(json.loads(content) | values).encode()


def without(key: str) -> Callable[[bytes], bytes]:
    return lambda content: json.dumps({k: v for k, v in json.loads(content).items() if k != key}).encode()


HEADERS: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda _: None,
    "empty": lambda _: b"",
    "no object": lambda _: b"[1, 2]",
    "a number": lambda _: b"7",
    "nested": lambda _: b"[" * 100_000,
    "no UTF-8": lambda _: b"\xff\xfe",
    "another format": with_header(format=2),
    "numbers in words": with_header(numbers=["one", "three"]),
    "endless number": lambda content: content.replace(b'"numbers":[1', b'"numbers":[1' + b"0" * 5000),
    "one seed too few": with_header(seeds=[11]),
    "seeds in words": with_header(seeds=["a", "b"]),
    "infinite seed": lambda content: content.replace(b'"seeds":[11', b'"seeds":[Infinity'),
    "scores that are null": with_header(scores=[None, None]),
    "score that is not finite": lambda content: content.replace(b'"scores":[1.0', b'"scores":[NaN'),
    "another length": with_header(lengths=[4, 1]),
    "lengths without end": with_header(lengths=7),
    "size of actions": with_header(action_bytes=5),
    "size of actions in words": with_header(action_bytes="4"),
    "no size of actions": with_header(action_bytes=0),
    "negative size of actions": with_header(action_bytes=-4),
    **{
        f"without {key}": without(key)
        for key in ("format", "environment", "numbers", "seeds", "lengths", "action_bytes")
    },
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_damaged_header_is_refused(kind: str) -> None:
    with pytest.raises(ArtifactDamaged):
        read_all(damaged(NUMBERS, "evaluation.json", HEADERS[kind]))


@pytest.mark.parametrize("record", [NUMBERS, ARRAYS], ids=["numbers", "arrays"])
@pytest.mark.parametrize("change", [lambda _: None, lambda data: data[:-1], lambda data: data + data, lambda _: b""])
def test_damaged_actions_are_refused(record: EvaluationRecord, change: Callable[[bytes], bytes | None]) -> None:
    with pytest.raises(ArtifactDamaged):
        read_all(damaged(record, "episodes/00001.bin", change))


def test_an_entry_that_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_kit.environment.episodes.MAX_ENTRY_BYTES", 1000)

    with pytest.raises(ArtifactDamaged):
        read_all(damaged(NUMBERS, "evaluation.json", lambda content: content + b" " * 2000))


@given(st.data())
def test_any_damage_is_refused_or_harmless(data: st.DataObject) -> None:
    whole = bytearray(stored(data.draw(st.sampled_from([NUMBERS, ARRAYS]))).getvalue())
    match data.draw(st.sampled_from(["cut", "flip", "noise"])):
        case "cut":
            del whole[data.draw(st.integers(0, len(whole) - 1)) :]
        case "flip":
            for place in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
                whole[place] ^= data.draw(st.integers(1, 255))
        case _:
            whole = bytearray(data.draw(st.binary(max_size=300)))

    try:
        record = read_all(bytes(whole))
    except ArtifactDamaged:
        return
    assert isinstance(record, EvaluationRecord)
    assert all(isinstance(episode.seed, int) for episode in record.episodes)


def test_every_secret_gives_an_order_of_its_own_that_can_be_found_again() -> None:
    one, other = (secret_order(digit * 64, 50) for digit in "1a")

    assert sorted(one) == sorted(other) == list(range(50))
    assert one != other
    # The format is that of docs/reference/referee.md.
    assert secret_order("00" * 32, 5) == (3, 0, 4, 1, 2)
