"""The lines of each feature: docs/contributor/architecture.md has a budget for each, and this reads it."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "contributor" / "architecture.md"
ROW = re.compile(r"^\| ([^|]+?) \| ((?:`[^`]+`(?:, )?)+) \| ([0-9,]+) \|$", re.MULTILINE)


def budgets() -> dict[str, tuple[list[str], int]]:
    """Return the places and the lines of each feature."""
    table = PAGE.read_text().partition("## Lines per feature")[2].partition("\n## ")[0]
    return {
        name: (re.findall(r"`([^`]+)`", places), int(lines.replace(",", "")))
        for name, places, lines in ROW.findall(table)
    }


def sources() -> list[str]:
    """Return the Python files that count: no tests, migrations or benchmarks."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [
        name
        for name in names
        if not {"tests", "migrations"} & set(name.split("/"))
        and not name.startswith(("benchmarks/", ".ci/"))
        and not name.endswith("conftest.py")
        and (ROOT / name).exists()
    ]


def feature_of(name: str) -> str:
    """Return the feature with the longest place that holds a file; empty if none does."""
    found = [(len(place), feature) for feature, (places, _) in budgets().items() for place in places
             if name == place or (place.endswith("/") and name.startswith(place))]  # fmt: skip
    return max(found, default=(0, ""))[1]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="an unpacked release has no repository")
def test_no_feature_is_longer_than_its_budget() -> None:
    lines: Counter[str] = Counter()
    for name in sources():
        lines[feature_of(name)] += len((ROOT / name).read_text().splitlines())
    assert lines.pop("", 0) == 0, [name for name in sources() if not feature_of(name)]
    over = {
        feature: (count, budgets()[feature][1]) for feature, count in lines.items() if count > budgets()[feature][1]
    }
    assert over == {}, "Take lines out, or raise the budget in this commit and say why."
    assert set(budgets()) == set(lines), "A feature of the table has no files."
