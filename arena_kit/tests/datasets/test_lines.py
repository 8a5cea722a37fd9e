from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from arena_kit.datasets.lines import DatasetWriter, DuelOfDataset, NotADataset, read_dataset
from arena_kit.environment.record_archive import write_duel
from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome

MATCH = MatchRecord(1, 5, (0, 1), (4, 0, 8), Outcome.PLAYER_1, (1.0, -1.0), move_counts=(2, 1))
FORFEIT = replace(
    MATCH, number=2, seats=(1, 0), outcome=Outcome.PLAYER_2, fault=Fault.PLAYER, faulty_player=0,
    error_code="player_raised", error="The player raised: KeyError\n  secret = plan[9]",
)  # fmt: skip


def duel(environment: str = "tic-tac-toe-v2") -> DuelOfDataset:
    file = io.BytesIO()
    write_duel(DuelRecord(environment, 7, ("anna v1", "berta v2"), (MATCH, FORFEIT)), file)
    file.seek(0)
    return DuelOfDataset(12, ("id-1", "id-2"), ("anna v1", "berta v2"), file)


def written(*duels: DuelOfDataset) -> bytes:
    writer = DatasetWriter("tic-tac-toe-v2", "https://arena.example", "2026-11-26T12:00:00+00:00")
    return b"".join(writer.chunks(duels))


def test_a_data_set_has_a_header_a_line_a_match_and_a_hash() -> None:
    data = written(duel(), duel())

    header, first, second, *rest = read_dataset(io.BytesIO(data))
    assert (header["environment"], header["licence"]) == ("tic-tac-toe-v2", "CC-BY-4.0")
    assert (first["duel"], first["players"], first["actions"]) == (12, ["id-1", "id-2"], [4, 0, 8])
    assert (second["faulty_player"], second["error_code"]) == (0, "player_raised")
    assert len(rest) == 2
    end = json.loads(data.splitlines()[-1])
    assert (end["matches"], end["duels"], end["left_out"]) == (4, 2, 0)
    assert b"secret" not in data


def test_damaged_duels_and_those_of_other_rules_are_left_out_and_counted() -> None:
    broken = DuelOfDataset(13, ("a", "b"), ("a", "b"), io.BytesIO(b"no zip"))

    end = json.loads(written(broken, duel("quarto-v2"), duel()).splitlines()[-1])

    assert (end["matches"], end["duels"], end["left_out"]) == (2, 1, 2)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda data: data[: data.rindex(b'{"end"')], "not complete"),
        (lambda data: data.replace(b"[4,0,8]", b"[4,0,7]", 1), "was changed"),
        (lambda data: data.replace(b"rl-arena-matches", b"other"), "no data set of matches"),
        (lambda data: data.replace(b'{"duel"', b'"duel"', 1), "not a JSON object"),
    ],
)
def test_what_is_no_whole_data_set_is_told(change: Callable[[bytes], bytes], sentence: str) -> None:
    data = written(duel())

    with pytest.raises(NotADataset, match=sentence):
        list(read_dataset(io.BytesIO(change(data))))
