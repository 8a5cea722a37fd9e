"""The page of the API's description in a real browser."""

from __future__ import annotations

from typing import Literal

import pytest
from django.test import Client
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from core.tests import factories
from web.api.tests.test_schema import description


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
@pytest.mark.nightly
def test_the_page_shows_and_tries_every_address(
    live_server: LiveServer, chromium: Browser, scheme: Literal["light", "dark"]
) -> None:
    factories.environment()
    person = factories.user("alice")
    session = Client()
    session.force_login(person)
    troubles: list[str] = []
    with chromium.new_context(base_url=live_server.url, color_scheme=scheme) as context:
        cookie = session.cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.goto("/api/docs")
        expect(page.locator(".opblock")).to_have_count(sum(map(len, description()["paths"].values())))
        assert page.evaluate("document.documentElement.classList.contains('dark-mode')") == (scheme == "dark")
        for operation in ("get_environment_list", "delete_token_shown"):
            block = page.locator(f"[id$='{operation}']")
            block.locator(".opblock-summary-control").click()
            block.get_by_role("button", name="Try it out").click()
            for field in block.locator("input[placeholder='id']").all():
                field.fill("1")
            block.get_by_role("button", name="Execute").click()
        expect(page.locator("[id$='get_environment_list'] .live-responses-table")).to_contain_text("tic-tac-toe")
        # The token does not exist; without a CSRF token the answer would be a 403.
        expect(page.locator("[id$='delete_token_shown'] .live-responses-table")).to_contain_text("no such token")
    assert [trouble for trouble in troubles if "404" not in trouble] == []
