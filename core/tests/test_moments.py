from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.moments import parse_moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-05-31", datetime(2026, 5, 31, 23, 59, 59, 999999, tzinfo=UTC)),
        (" 2026-05-31T18:30 ", datetime(2026, 5, 31, 18, 30, tzinfo=UTC)),
        ("2026-05-31 18:30:05Z", datetime(2026, 5, 31, 18, 30, 5, tzinfo=UTC)),
        ("2026-05-31T18:30+02:00", datetime(2026, 5, 31, 16, 30, tzinfo=UTC)),
    ],
)
def test_a_day_means_its_end_and_a_moment_is_utc(text: str, moment: datetime) -> None:
    assert parse_moment(text) == moment


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-02-30", "20260531", "2026-W22-7", "2026-05-31T25:00", "31.05.2026", "2026-05-31x",
             "0001-01-01T00:00+14:00", "٢٠٢٦-05-31"],
)  # fmt: skip
def test_what_is_no_moment_is_told_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="2026-05-31T18:30"):
        parse_moment(text)
