"""Style sheets that browsers of 2023 understand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHEETS = sorted(
    path
    for folder in ("web/static", "core/static", "arena_kit/environment/replay_file/assets", "arena_kit/cli/report")
    for path in (ROOT / folder).rglob("*.css")
)
YOUNGER = re.compile(r"light-dark\(|@layer|@container|@scope|@starting-style|field-sizing|interpolate-size")
"""What began with browsers of 2024, or would take all of a page's looks where it is missing."""


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda path: path.name)
def test_a_style_sheet_needs_no_younger_browser(sheet: Path) -> None:
    assert YOUNGER.findall(sheet.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", ["web/static/web/app.css", "arena_kit/environment/replay_file/assets/page.css"])
def test_colours_of_both_schemes_are_light_without_a_preference(name: str) -> None:
    sheet = (ROOT / name).read_text(encoding="utf-8")
    assert re.search(r":root \{\s+color-scheme: light dark; --on-light: initial; --on-dark: ;", sheet)
    assert all(dark for _, dark in re.findall(r"var\(--on-light, ([^()]+)\)( var\(--on-dark, [^()]+\))?", sheet))
