"""The pictures at the top of README.md, drawn from agents that really play; `make pictures` draws them anew."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, FloatRect, Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from core.demo.agents import examples_upload
from core.duels.selectors import records_open
from core.models import Duel, JobState
from core.tests import factories
from tests.samples import deliver_messages

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.slow]
ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
SIZE = (1280, 800)
BEST = ("deep-search", "minimax")
COLORS, MOST_BYTES = 128, 150_000


def board(page: Page) -> None:
    """The leaderboard of a game after its first edition."""
    page.goto("/environments/connect-four/")
    expect(page.locator("#leaderboard tbody tr")).to_have_count(4)


def match(page: Page) -> None:
    """The longest match of the two best agents, shortly before its end."""
    duel = Duel.objects.get(player_1__agent__name__in=BEST, player_2__agent__name__in=BEST)
    with records_open(duel) as archive:
        longest = max(archive.index, key=lambda row: row.moves)
    page.goto(f"/duels/{duel.pk}/matches/{longest.number}/#ply={longest.moves - 2}")


SCENES: dict[str, Callable[[Page], None]] = {"board": board, "match": match}


def drawn(page: Page, scene: Callable[[Page], None]) -> Image.Image:
    """A scene, in few colours, so that its file is small."""
    scene(page)
    page.wait_for_load_state("networkidle")
    # Below the line that says in which sandbox players run.
    top = page.locator("header").first.bounding_box()
    assert top is not None
    clip: FloatRect = {"x": 0, "y": top["y"], "width": SIZE[0], "height": SIZE[1]}
    return Image.open(BytesIO(page.screenshot(clip=clip, full_page=True))).convert("RGB").quantize(COLORS)


def test_the_readme_opens_with_pictures_of_a_board_and_a_match(
    live_server: LiveServer, chromium: Browser, settings: Settings, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path
    game = factories.environment("connect-four-v1")
    game.matches_per_duel, game.active_per_owner = 20, 4
    game.save()
    examples_upload(factories.user("organiser"), [game], lambda _: None)
    deliver_messages(drawing=False)
    assert set(Duel.objects.values_list("state", flat=True)) == {JobState.SUCCEEDED}
    folder = FOLDER if pytestconfig.getoption("--draw-pictures") else tmp_path
    folder.mkdir(exist_ok=True)
    first = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]
    size = dict(zip(("width", "height"), SIZE, strict=True))
    with chromium.new_page(base_url=live_server.url, viewport=size) as page:  # type: ignore[arg-type]
        for name, scene in SCENES.items():
            file = folder / f"{name}.png"
            drawn(page, scene).save(file, optimize=True)
            assert f"](docs/pictures/{name}.png)" in first
            with Image.open(FOLDER / f"{name}.png") as shown:
                assert shown.size == SIZE
            assert max(file.stat().st_size, (FOLDER / file.name).stat().st_size) < MOST_BYTES
