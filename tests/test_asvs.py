"""docs/reference/asvs.md: every requirement has a verdict, and what holds it is there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "asvs.md"
ROW = re.compile(r"^\| (\d+\.[\dx.]+)( \(3\))? \| ([^|]+) \| (holds|partly|not applicable) \| ([^|]+) \|$")
COUNT, MOST_IN_PART = 204, 8


class Line(NamedTuple):
    number: str
    is_counted: bool
    verdict: str
    reason: str


def lines() -> list[Line]:
    shown = [line for line in PAGE.read_text().splitlines() if re.match(r"\| \d", line)]
    found = [ROW.match(line) for line in shown]
    assert [line for line, match in zip(shown, found, strict=True) if match is None] == []
    return [
        Line(match[1], match[2] is None and match[4] != "not applicable", match[4], match[5])
        for match in found
        if match is not None
    ]


def test_every_requirement_is_judged_once() -> None:
    numbers = Counter(line.number for line in lines())
    assert [number for number, count in numbers.items() if count > 1] == []
    counted = [line for line in lines() if line.is_counted]
    assert len(counted) == COUNT
    in_part = [line for line in counted if line.verdict == "partly"]
    assert len(in_part) <= MOST_IN_PART
    assert [line.number for line in in_part if "may decide otherwise" not in line.reason] == []
    assert f"Of {COUNT} requirements {COUNT - len(in_part)} hold and {len(in_part)} hold in part." in PAGE.read_text()


def test_every_test_that_is_named_exists() -> None:
    missing = []
    for line in lines():
        for path, _, name in (span.partition("::") for span in re.findall(r"`([\w./-]+\.py(?:::\w+)?)`", line.reason)):
            text = (ROOT / path).read_text() if (ROOT / path).is_file() else ""
            if not text or (name and not re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE)):
                missing.append((line.number, path, name))
    assert missing == []


def test_no_line_is_held_by_nothing() -> None:
    assert [line.number for line in lines() if len(line.reason) < len("it is not used")] == []
