"""Data sets as Parquet and as Minari's, read again by the real libraries."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arena_kit.datasets.lines import DatasetWriter, DuelOfDataset, NotADataset
from arena_kit.datasets.parquet import write_parquet
from arena_kit.datasets.trajectories import write_minari
from arena_kit.environment.record_archive import write_duel
from arena_kit.environment.records import DuelRecord, Fault, MatchRecord
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import replay
from arena_kit.referee.play import run_match
from arena_kit.tests.chance import Chance

SPEC = get_spec("tic-tac-toe")


def matches(count: int = 4) -> list[MatchRecord]:
    return [
        run_match(SPEC, (Chance(number), Chance(99 + number)), number=number, seed=number)
        for number in range(1, count + 1)
    ]


def written(records: list[MatchRecord], environment: str = SPEC.id) -> io.BytesIO:
    file = io.BytesIO()
    write_duel(DuelRecord(environment, 7, ("anna v1", "berta v2"), tuple(records)), file)
    file.seek(0)
    writer = DatasetWriter(environment, "https://arena.example", "2026-11-26T12:00:00+00:00")
    duel = DuelOfDataset(12, ("id-1", "id-2"), ("anna v1", "berta v2"), file)
    return io.BytesIO(b"".join(writer.chunks([duel])))


def test_a_parquet_file_has_a_row_a_match_and_the_licence(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    records = matches()
    forfeit = replace(records[1], fault=Fault.PLAYER, faulty_player=0, error_code="player_died")
    target = tmp_path / "matches.parquet"
    assert write_parquet(written([records[0], forfeit, *records[2:]]), target) == 4
    table = parquet.read_table(target)
    rows = table.to_pylist()
    assert [row["actions"] for row in rows] == [list(record.actions) for record in records]
    assert [row["opening_count"] for row in rows] == [record.opening_count for record in records]
    assert (rows[0]["player_2"], rows[0]["name_1"], rows[0]["duel"]) == ("id-2", "anna v1", 12)
    assert (rows[1]["faulty_player"], rows[1]["error_code"], rows[0]["fault"]) == (0, "player_died", "NONE")
    assert rows[0]["scores"] == list(records[0].scores)
    assert table.schema.metadata[b"arena.licence"] == b"CC-BY-4.0"


def test_what_is_no_data_set_becomes_no_parquet_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    cut = io.BytesIO(written(matches()).getvalue()[:-20])
    with pytest.raises(NotADataset):
        write_parquet(cut, tmp_path / "a.parquet")


def test_minari_reads_every_match_as_each_seat_lived_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    pytest.importorskip("pyarrow")
    records = matches()
    forfeit = replace(records[1], fault=Fault.PLAYER, faulty_player=0)
    untrue = replace(records[2], scores=(5.0, -5.0))
    made = write_minari(written([records[0], forfeit, untrue, records[3]]), tmp_path, SPEC)
    assert (made.matches, made.left_out) == (2, 2)
    assert "MINARI_DATASETS_PATH" not in os.environ
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    for seat, name in enumerate(made.ids):
        data = minari.load_dataset(name)
        assert data.total_episodes == 2
        for episode, record in zip(data.iterate_episodes(), (records[0], records[3]), strict=True):
            states = list(replay(SPEC, record, observe=True))
            own = [place for place, state in enumerate(states[1:]) if state.seat == seat and not state.is_opening]
            assert episode.actions.tolist() == [record.actions[place] for place in own]
            assert sum(episode.rewards) == record.scores[record.seats[seat]]
            assert [len(episode.observations), len(episode.rewards)] == [len(own) + 1, len(own)]
            for place, seen in zip(own, episode.observations, strict=False):
                assert np.array_equal(seen.ravel(), np.array(states[place].observations[seat].observation))
            assert (episode.terminations.tolist()[-1], any(episode.terminations[:-1])) == (True, False)
            masks = episode.infos["action_mask"]
            assert all(mask[action] == 1 for mask, action in zip(masks, episode.actions, strict=False))
        about = next(data.storage.get_episode_metadata([0]))["options"]
        assert about["duel"] == 12
        assert about["name"] == ("anna v1", "berta v2")[records[0].seats[seat]]
        assert "CC-BY-4.0" in data.spec.description if hasattr(data.spec, "description") else True


def test_matches_of_other_rules_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("minari")
    pytest.importorskip("pyarrow")
    with pytest.raises(NotADataset, match="not of"):
        write_minari(written(matches(1)), tmp_path, get_spec("connect-four"))
