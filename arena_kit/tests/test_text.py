from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.text import INVISIBLE, plain_line


@pytest.mark.parametrize(
    ("given_text", "kept"),
    [
        ("Q-learning", "Q-learning"),
        ("  two\t lines\r\nand\u2028more\u00a0 ", "two lines and more"),
        ("a\u202egnp.exe\u202c", "agnp.exe"),
        ("pass\u200b\u200d\u2060\ufeff\u00adword", "password"),
        ("\x00\x1b[31m\x9bred", "[31mred"),
        ("\ud800x\udfff", "?x?"),
        ("\u3164\uffa0\u115f\u2800", ""),
        ("Z\u0336\u0336\u0336\u0336\u0336", "Z\u0336\u0336"),
        ("Nguye\u0302\u0303n, \u738b\u5c0f\u660e, \u05d0\u05d1", "Nguy\u1ec5n, \u738b\u5c0f\u660e, \u05d0\u05d1"),
        ("\U0001f9e0 <b>&amp;", "\U0001f9e0 <b>&amp;"),
    ],
)
def test_what_is_seen_is_kept_and_nothing_else(given_text: str, kept: str) -> None:
    assert plain_line(given_text) == kept


@given(st.text(st.characters()))
def test_whatever_comes_it_is_one_storable_line_and_stays_as_it_is(text: str) -> None:
    line = plain_line(text)
    assert line == line.strip()
    assert not set(line) & (INVISIBLE | set("\n\r\x00\u202e\u2066\u200b"))
    line.encode()
    assert plain_line(line) == line
