"""A whole way through the site without a pointer: an upload, a match, and a move at the board."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from core.models import Opponents, SittingMove, Submission
from core.sittings.services import opponents_set
from core.tests import factories
from web.tests.arena import staged
from web.tests.tabs import session, used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.nightly]
MOST_TABS = 150


def reach(page: Page, wanted: Locator) -> None:
    """Go on by the Tab key until the focus is there."""
    for _ in range(MOST_TABS):
        if wanted.count() == 1 and wanted.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{MOST_TABS} presses of the Tab key do not lead to {wanted}")


def use(page: Page, wanted: Locator) -> None:
    reach(page, wanted)
    page.keyboard.press("Enter")


def test_upload_match_and_sitting_need_no_pointer(
    transactional_db: None, live_server: LiveServer, chromium: Browser, tmp_path: Path
) -> None:
    cast, game = factories.cast(), factories.environment()
    stage = staged(cast, game, match_count=6)
    opponents_set(agent=stage.clara.agent, opponents=Opponents.EVERYONE)
    player = tmp_path / "player.zip"
    with zipfile.ZipFile(player, "w") as archive:
        archive.writestr("player.py", "class Player:\n    def play(self, observation):\n        return 0\n")

    with chromium.new_page(base_url=live_server.url) as tab, used(tab, session(cast.alice)) as page:
        page.goto("/")
        use(page, page.get_by_role("link", name="Skip to content"))

        page.goto(f"/environments/{game.slug}/agents/anna/")
        field = page.get_by_label(re.compile("^Files"))
        reach(page, field)
        # The window in which a file is chosen is the browser's own.
        field.set_input_files(player)
        use(page, page.get_by_role("button", name="Upload"))
        expect(page.get_by_role("heading", name="Version 2")).to_be_visible()
        assert Submission.objects.filter(agent=stage.anna.agent).count() == 2

        page.goto(f"/duels/{stage.duel.pk}/")
        use(page, page.locator(".matches a").first)
        expect(page.locator("#slider")).to_have_value("0")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#slider")).to_have_value("1")

        page.goto(f"/environments/{game.slug}/agents/clara/")
        use(page, page.get_by_role("button", name="Play", exact=True))
        expect(page.locator(".turn")).to_have_text("Your turn.")
        use(page, page.get_by_role("button", name=re.compile("^Centre")))
        expect(page.locator(".made li")).to_have_count(1)
        assert [move.action for move in SittingMove.objects.all()] == [4]
