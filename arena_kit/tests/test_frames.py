"""The one framing of every wire."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.frames import BadFrame, Splitter, frame_at, pack, pack_data, unpack_data

FRAMES = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=40)), max_size=8)


def taken(splitter: Splitter) -> list[tuple[int, bytes]]:
    found = []
    while (frame := splitter.take()) is not None:
        found.append(frame)
    return found


def test_a_frame_is_its_length_its_kind_and_its_payload() -> None:
    assert pack(130, b"abc") == b"\x04\x00\x00\x00\x82abc"
    assert frame_at(b"??" + pack(130, b"abc") + b"more", 2, 4) == (130, b"abc", 10)


@given(frames=FRAMES, cuts=st.lists(st.integers(1, 50), min_size=1))
def test_frames_that_arrive_in_any_pieces_are_the_frames_that_were_sent(
    frames: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    data, splitter, found = b"".join(pack(*frame) for frame in frames), Splitter(64), list[tuple[int, bytes]]()
    while data:
        cut = cuts.pop(0) if len(cuts) > 1 else cuts[0]
        splitter.feed(data[:cut])
        data = data[cut:]
        if len(data) % 2:  # frames may also pile up
            found += taken(splitter)
    assert found + taken(splitter) == frames
    assert splitter.is_empty


def test_the_rest_of_a_frame_is_held_until_it_is_whole() -> None:
    splitter = Splitter(64)
    splitter.feed(pack(1, b"one") + pack(2, b"two")[:-1])
    assert taken(splitter) == [(1, b"one")]
    assert not splitter.is_empty
    splitter.feed(b"o")
    assert taken(splitter) == [(2, b"two")]


@pytest.mark.parametrize("length", [0, 66, 0xFFFFFFFF])
def test_a_frame_that_announces_an_impossible_length_is_refused_before_it_arrives(length: int) -> None:
    splitter = Splitter(65)
    splitter.feed(length.to_bytes(4, "little") + b"\x01")
    with pytest.raises(BadFrame, match=f"announces {length} bytes") as caught:
        splitter.take()
    assert caught.value.length == length


def test_a_payload_of_json_must_be_json() -> None:
    assert unpack_data(pack_data(1, {"a": [1, None]})[5:]) == {"a": [1, None]}
    for payload in (b"", b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(BadFrame):
            unpack_data(payload)
    with pytest.raises(ValueError, match="not JSON compliant"):
        pack_data(1, json.loads("NaN"))
