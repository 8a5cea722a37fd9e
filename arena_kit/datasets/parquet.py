"""A data set of matches as one Parquet file with a row a match. Needs pyarrow, of the extra `datasets`."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import IO, Any

from arena_kit.datasets.lines import NotADataset, read_dataset
from arena_kit.environment.protocol import MissingExtra
from arena_kit.errors import parts_needed

ROWS_AT_ONCE = 10_000
"""The matches of a row group, which are held in memory together."""
BOTH = ("seats", "actions", "scores", "move_counts", "thinking_seconds", "slowest_move_seconds", "cpu_seconds")
"""Columns that hold a list: `actions` in the order played, all others by player, but `seats` by seat."""
MOVE_TIMES = ("move_ms_1", "move_ms_2")
"""Columns with a list of the milliseconds of each move of a player, as `MatchRecord.move_ms` has them."""


def write_parquet(source: IO[bytes], target: Path) -> int:
    """Write the lines of a data set as Parquet; return the number of matches.

    The header, with the licence, is in the metadata of the file. Raises NotADataset, after a part of the file, and
    MissingExtra.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("Parquet files need pyarrow.", hint=f"To get it, {parts_needed('datasets')}.") from None
    lines = read_dataset(source)
    header = next(lines)
    schema = _schema(pyarrow).with_metadata({f"arena.{key}": str(value) for key, value in header.items()})
    count = 0
    with parquet.ParquetWriter(target, schema, compression="zstd") as writer:
        while rows := [_row(match) for match in islice(lines, ROWS_AT_ONCE)]:
            try:
                writer.write_table(pyarrow.Table.from_pylist(rows, schema))
            except (pyarrow.ArrowException, TypeError, OverflowError):
                raise NotADataset("A match of this data set has a field of another type.") from None
            count += len(rows)
    return count


def _schema(pyarrow: Any) -> Any:
    whole, real, text = pyarrow.int64(), pyarrow.float64(), pyarrow.string()
    kinds = dict.fromkeys(BOTH, real) | dict.fromkeys(("seats", "actions", "move_counts"), whole)
    return pyarrow.schema(
        [
            ("duel", whole),
            ("number", whole),
            ("seed", whole),
            *((name, text) for name in ("player_1", "player_2", "name_1", "name_2", "outcome", "fault", "error_code")),
            ("faulty_player", whole),
            ("opening_count", whole),
            *((name, pyarrow.list_(kinds[name])) for name in BOTH),
            *((name, pyarrow.list_(whole)) for name in MOVE_TIMES),
        ]
    )


def _row(match: dict[str, Any]) -> dict[str, Any]:
    """Return a match with a column for each player's id and name, and without what is not in the schema."""
    try:
        (player_1, player_2), (name_1, name_2) = match["players"], match["names"]
        times = dict(zip(MOVE_TIMES, match.get("move_ms", (None, None)), strict=True))
    except (KeyError, TypeError, ValueError):
        raise NotADataset("A match of this data set does not name its two players.") from None
    named = {"player_1": player_1, "player_2": player_2, "name_1": name_1, "name_2": name_2}
    return {"fault": "NONE", "error_code": "", "opening_count": 0, **match, **named, **times}
