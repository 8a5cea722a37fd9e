"""The pictures of matches that other sites show for a link."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from arena_kit.environment.replay_file.views import FrameView
from core.duels.selectors import match_get
from core.models import Duel, Environment
from core.tests.factories import Cast
from web.cards import drawing as cards
from web.cards import fonts
from web.cards.drawing import CARD_SIZE, card_svg
from web.cards.rasteriser import NotDrawn, rasterised
from web.tests.arena import Stage, staged

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(scope="module")
def shared_stage(shared_cast: Cast, shared_environment: Environment) -> Stage:
    return staged(shared_cast, shared_environment, match_count=8)


def embed(duel: Duel, number: int = 1) -> str:
    return f"/embed/duels/{duel.pk}/matches/{number}/"


def png_size(content: bytes) -> tuple[int, ...]:
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", content[16:24])


def test_the_card_of_a_match_is_a_picture_of_its_last_position(client: Client, stage: Stage) -> None:
    first, other = (client.get(embed(stage.duel, number) + "card.png") for number in (1, 2))

    assert first["Content-Type"] == "image/png"
    assert png_size(first.content) == CARD_SIZE
    assert first.content != other.content


@pytest.mark.parametrize(
    "picture",
    [
        '<svg xmlns="http://www.w3.org/2000/svg"><image href="/etc/passwd"/></svg>',
        "<svg xmlns=\"http://www.w3.org/2000/svg\"><image xlink:href='file:///x.png'/></svg>",
        '<svg xmlns="http://www.w3.org/2000/svg"><style>@import url(//x)</style></svg>',
        "no picture",
    ],
)
def test_a_picture_that_would_load_anything_is_left_out_of_the_card(stage: Stage, picture: str) -> None:
    record, _ = match_get(stage.duel, 1)
    card = card_svg(record, ("<b>&\"'", "berta v1" * 40), "Tic-tac-toe", picture)

    assert picture not in card
    assert "passwd" not in card
    assert png_size(rasterised(card)) == CARD_SIZE


SLOW = (
    '<svg xmlns="http://www.w3.org/2000/svg"><filter id="f" filterUnits="userSpaceOnUse" x="-1e6" y="-1e6" width="2e6" '
    'height="2e6"><feTurbulence baseFrequency=".1" numOctaves="1000000"/></filter>'
    '<rect width="9" height="9" filter="url(#f)"/></svg>'
)
"""Takes minutes to draw, in which no thread of the same process runs."""


@pytest.fixture
def no_other_fonts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A machine with DejaVu Sans Mono alone; the folder is where others would be installed."""
    (mono,) = [path for path in fonts.FONTS if path.name == "DejaVuSansMono.ttf"]
    if not mono.is_file():
        pytest.skip("fonts-dejavu-core is not installed")
    monkeypatch.setattr(fonts, "FONTS", (mono,))
    monkeypatch.setattr(fonts, "FOLDERS", (tmp_path,))
    for known in (fonts._installed, fonts._fallback):
        known.cache_clear()
    yield tmp_path
    for known in (fonts._installed, fonts._fallback):
        known.cache_clear()


def test_names_that_no_font_here_has_are_not_drawn_as_boxes(stage: Stage, no_other_fonts: Path) -> None:
    record, _ = match_get(stage.duel, 1)
    card = card_svg(record, ("张伟 v1", "berta \U0001f680 v2"), "围棋", "")
    assert ">Player 1<" in card
    assert ">berta v2<" in card
    assert ">A match<" in card
    assert "张" not in card
    assert png_size(rasterised(card)) == CARD_SIZE


def test_an_installed_font_is_used_for_what_the_others_lack(no_other_fonts: Path) -> None:
    hebrew = "דנה v1"
    assert fonts.drawable(hebrew, "Player 1") == "Player 1"
    sans = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
    (no_other_fonts / "deep").mkdir()
    (no_other_fonts / "deep" / "a-damaged.ttf").write_bytes(b"\0\1\0\0\xff\xff" + b"x" * 100)
    (no_other_fonts / "deep" / "b.ttf").write_bytes(sans.read_bytes())
    for known in (fonts._installed, fonts._fallback):
        known.cache_clear()
    assert fonts.drawable(hebrew, "Player 1") == hebrew
    assert fonts.fonts_for(hebrew)[1:] == (no_other_fonts / "deep" / "b.ttf",)
    assert fonts.fonts_for("dana v1") == fonts.FONTS


def test_a_picture_that_takes_minutes_is_left_out_of_the_cards_of_its_environment(
    client: Client, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []

    def draw(svg: str) -> bytes:
        drawn.append(svg)
        return rasterised(svg)

    monkeypatch.setattr(cards, "rasterised", draw)
    monkeypatch.setattr(cards, "match_views", lambda *_: [FrameView(0, SLOW, "", "", ())])
    first, second = (client.get(f"{embed(stage.duel, number)}card.png") for number in (1, 2))

    assert png_size(first.content) == png_size(second.content) == CARD_SIZE
    assert ["feTurbulence" in svg for svg in drawn] == [True, False, False]


def test_a_card_that_cannot_be_drawn_says_so(client: Client, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(svg: str) -> bytes:
        raise NotDrawn

    monkeypatch.setattr(cards, "rasterised", busy)
    answer = client.get(f"{embed(stage.duel)}card.png")

    assert (answer.status_code, "cannot be drawn now" in answer.content.decode()) == (404, True)
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize("name", ["W" * 50, "M" * 18, "DEEP_Q_NETWORK_MINIMAX v12", "plain"])
def test_names_fit_onto_the_card(stage: Stage, name: str) -> None:
    record, _ = match_get(stage.duel, 1)
    whole = [card_svg(record, (text, "berta"), text, "") for text in (" ", name)]
    size = 'width="1200" height="630"'
    margins = [svg.replace(size, 'width="60" height="630" viewBox="1140 0 60 630"', 1) for svg in whole]

    assert rasterised(whole[0]) != rasterised(whole[1])
    assert rasterised(margins[0]) == rasterised(margins[1])
