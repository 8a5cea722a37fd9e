from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_kit.environment import record_archive as archive_format
from arena_kit.environment.record_archive import ArtifactDamaged, DuelArchive
from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.tests.environment.playing import duel_record, match_record, written

SPEC = get_spec("tic-tac-toe-v1")
RECORD = duel_record(SPEC, count=120)
DATA = written(RECORD)


def opened(data: bytes) -> DuelArchive:
    return DuelArchive(io.BytesIO(data))


def parts(data: bytes = DATA) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(entries: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return file.getvalue()


def test_what_is_written_is_read_again() -> None:
    archive = opened(DATA)
    assert archive.record() == RECORD
    assert archive.header.summary == RECORD.summary
    assert (archive.header.environment, archive.header.seed) == ("tic-tac-toe-v1", 7)
    assert (archive.players, archive.match_count) == (("alpha v1", "beta v2"), 120)


def test_the_index_tells_what_a_list_of_matches_shows() -> None:
    third = opened(DATA).index[2]
    assert (third.number, third.outcome, third.fault, third.faulty_player) == (3, Outcome.PLAYER_1, Fault.PLAYER, 1)
    assert (third.first_player, third.moves) == (0, 2)
    assert [row.first_player for row in opened(DATA).index[:4]] == [0, 1, 0, 1]


@pytest.mark.parametrize("number", [1, 50, 51, 100, 101, 120])
def test_a_match_is_read_from_its_block_alone(number: int) -> None:
    wanted = f"matches/{(number - 1) // 50:05}.jsonl"
    kept = {name: data for name, data in parts().items() if name in ("duel.json", wanted)}
    assert opened(packed(kept)).match(number) == RECORD.matches[number - 1]


@pytest.mark.parametrize("number", [0, -1, 121, 10**30])
def test_a_bad_number_is_answered_with_the_good_ones(number: int) -> None:
    with pytest.raises(LookupError, match=f"matches 1 to 120; there is no match {number}"):
        opened(DATA).match(number)


def test_equal_records_give_equal_bytes() -> None:
    assert written(duel_record(SPEC, count=120)) == DATA


def test_a_duel_without_matches_can_be_kept() -> None:
    empty = DuelRecord(SPEC.id, 1, ("a", "b"), ())
    assert opened(written(empty)).record() == empty


@given(
    st.builds(
        MatchRecord,
        number=st.just(1),
        seed=st.integers(0, 2**64),
        seats=st.sampled_from([(0, 1), (1, 0)]),
        actions=st.lists(st.integers(-(2**40), 2**40)).map(tuple),
        outcome=st.sampled_from(Outcome),
        scores=st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.just(0.0)),
        fault=st.sampled_from([Fault.PLAYER, Fault.PLATFORM]),
        faulty_player=st.sampled_from([None, 0, 1]),
        error_code=st.text(),
        error=st.text(),
        move_ms=st.none() | st.tuples(*[st.lists(st.integers(0, 2**40), max_size=9).map(tuple)] * 2),
    )
)
@settings(max_examples=60)
def test_any_record_survives(match: MatchRecord) -> None:
    record = DuelRecord("any-v1", -5, ("näme\n", "\U0001f600"), (match,))
    assert opened(written(record)).record() == record


@pytest.mark.slow
@given(st.data())
@settings(max_examples=300)
def test_damage_is_noticed_or_harmless_but_never_another_error(data: st.DataObject) -> None:
    damaged = bytearray(SMALL)
    if data.draw(st.booleans(), "cut off"):
        del damaged[data.draw(st.integers(0, len(damaged) - 1)) :]
    for _ in range(data.draw(st.integers(1, 4))):
        if damaged:
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ArtifactDamaged):
        assert list(opened(bytes(damaged)).matches()) == list(RECORD.matches[:4])


SMALL = written(DuelRecord(SPEC.id, 7, ("a", "b"), RECORD.matches[:4]))


def first_match_with(**fields: object) -> bytes:
    """Return an artifact whose first match has other fields."""
    entries = parts(SMALL)
    first, *others = entries["matches/00000.jsonl"].decode().split("\n")
    changed = json.dumps(json.loads(first) | fields)
    return packed({**entries, "matches/00000.jsonl": "\n".join([changed, *others]).encode()})


def test_records_of_before_know_no_times_of_moves() -> None:
    entries = parts(SMALL)
    lines = [json.loads(line) for line in entries["matches/00000.jsonl"].decode().split("\n")]
    assert "move_ms" in lines[0]
    old = "\n".join(json.dumps({key: value for key, value in line.items() if key != "move_ms"}) for line in lines)
    first = opened(packed({**entries, "matches/00000.jsonl": old.encode()})).match(1)
    assert first == replace(RECORD.matches[0], move_ms=None)


@pytest.mark.parametrize("times", [None, 3, [], [[1]], [[1], [2], [3]], [[1.5], []], [["1"], []], [[True], []], "ab"])
def test_times_of_moves_that_make_no_sense_are_refused(times: object) -> None:
    with pytest.raises(ArtifactDamaged):
        opened(first_match_with(move_ms=times)).match(1)


def header_with(change: Callable[[dict[str, Any]], object]) -> bytes:
    entries = parts()
    header = json.loads(entries["duel.json"])
    change(header)
    return packed({**entries, "duel.json": json.dumps(header).encode()})


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.update(format=2),
        lambda header: header.pop("players"),
        lambda header: header.update(players=["one"]),
        lambda header: header.update(seed="7"),
        lambda header: header.update(match_count=10**9),
        lambda header: header.update(match_count=-1),
        lambda header: header.update(index=None),
        lambda header: header["index"].pop(),
        lambda header: header["index"].__setitem__(0, ["WON", "NONE", None, 0, 5]),
        lambda header: header["index"].__setitem__(0, ["DRAW", "NONE", None, 2, 5]),
        lambda header: header["index"].__setitem__(0, ["DRAW", "PLAYER", 2, 0, 5]),
        lambda header: header["summary"].update(outcome="PLAYER_3"),
        lambda header: header["summary"].update(scores=[float("nan"), 0]),
        lambda header: header["summary"].update(wins=[1]),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(change: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises(ArtifactDamaged):
        opened(header_with(change))


@pytest.mark.parametrize("text", [b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 200_000])
def test_a_header_that_is_no_json_object_is_refused(text: bytes) -> None:
    with pytest.raises(ArtifactDamaged):
        opened(packed({**parts(), "duel.json": text}))


@pytest.mark.parametrize("data", [b"", b"no zip at all", DATA[: len(DATA) // 2], DATA[:-1]])
def test_a_file_that_is_no_whole_zip_is_refused(data: bytes) -> None:
    with pytest.raises(ArtifactDamaged, match="damaged and cannot be read"):
        opened(data)


def test_a_missing_block_is_noticed_when_it_is_read() -> None:
    archive = opened(packed({name: data for name, data in parts().items() if not name.endswith("1.jsonl")}))
    assert archive.match(50).number == 50
    with pytest.raises(ArtifactDamaged, match=r"matches/00001\.jsonl"):
        archive.match(51)


def line_with(**changes: object) -> str:
    line: dict[str, object] = json.loads(parts()["matches/00000.jsonl"].split(b"\n")[0])
    return json.dumps({**line, **changes})


@pytest.mark.parametrize(
    "line",
    [
        "",
        "null",
        "{}",
        json.dumps({"number": 1}),
        line_with(actions=["4"]),
        line_with(actions=[4.0]),
        line_with(scores=[float("nan"), 0]),
        line_with(seats=None),
        line_with(outcome="PLAYER_3"),
        line_with(surprise=1),
    ],
)
def test_a_damaged_match_is_refused_and_its_neighbours_are_not(line: str) -> None:
    entries = parts()
    lines = entries["matches/00000.jsonl"].decode().split("\n")
    lines[0] = line
    archive = opened(packed({**entries, "matches/00000.jsonl": "\n".join(lines).encode()}))
    with pytest.raises(ArtifactDamaged, match="Match 1 of this duel's records is damaged"):
        archive.match(1)
    assert archive.match(2) == RECORD.matches[1]


def test_a_match_in_the_wrong_place_is_refused() -> None:
    entries = parts()
    lines = entries["matches/00000.jsonl"].decode().split("\n")
    lines[0], lines[1] = lines[1], lines[0]
    with pytest.raises(ArtifactDamaged, match="has the number"):
        opened(packed({**entries, "matches/00000.jsonl": "\n".join(lines).encode()})).match(1)


def test_a_block_that_unpacks_to_too_much_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_format, "MAX_ENTRY_BYTES", 100_000)
    bomb = packed({**parts(), "matches/00000.jsonl": b" " * 5_000_000})
    with pytest.raises(ArtifactDamaged, match="larger than any real one"):
        opened(bomb).match(1)


def test_an_encrypted_entry_is_refused() -> None:
    data = bytearray(written(DuelRecord(SPEC.id, 7, ("a", "b"), (match_record(SPEC),))))
    directory = data.index(b"PK\x01\x02")
    data[directory + 8] |= 1
    data[6] |= 1
    with pytest.raises(ArtifactDamaged, match=r"duel.json"):
        opened(bytes(data))


def test_a_match_that_the_platform_failed_keeps_its_reason() -> None:
    failed = replace(match_record(SPEC), fault=Fault.PLATFORM, error_code="engine_down", error="The engine is down.")
    record = DuelRecord(SPEC.id, 7, ("a", "b"), (failed,))
    assert opened(written(record)).match(1).error == "The engine is down."
