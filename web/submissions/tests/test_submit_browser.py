"""Submitting without an account in a browser, down to the smallest phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from core.models import Submission
from core.tests import factories

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture
def page(transactional_db: None, live_server: LiveServer, chromium: Browser, settings: Settings) -> Iterator[Page]:
    settings.ANONYMOUS_SUBMISSIONS = True
    factories.environment("cart-pole")
    size = {"width": 320, "height": 640}
    permissions = ["clipboard-read", "clipboard-write"]
    with chromium.new_context(base_url=live_server.url, viewport=size, permissions=permissions) as context:  # type: ignore[arg-type]
        yield context.new_page()


def test_a_visitor_submits_copies_the_id_and_comes_back(page: Page, tmp_path: Path) -> None:
    for name in ("dqn.py", "net.py"):
        (tmp_path / name).write_text("print('{\"score\": 1}')\n")
    page.goto("/environments/cart-pole/write/")
    page.get_by_role("link", name="Submit without an account").click()
    expect(page.get_by_label("Environment")).to_have_value("CartPole-v1")
    main = page.get_by_label("Main file")
    expect(main).to_be_hidden()
    page.get_by_label("Files").set_input_files([tmp_path / "dqn.py", tmp_path / "net.py"])
    expect(main).to_be_visible()
    main.fill("dqn.py")
    page.get_by_label("Your name").fill("grace")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Submit").click()

    expect(page.get_by_text("this id is the only way back")).to_be_visible()
    public_id = str(Submission.objects.get().public_id)
    page.get_by_role("button", name="Copy the id of this version").click()
    assert page.evaluate("navigator.clipboard.readText()") == public_id
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto("/status/")
    expect(page.locator("#found code").first).to_have_text(public_id)
