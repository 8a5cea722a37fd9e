"""Passkeys in a real browser, with the virtual authenticator of Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from core.models import AuditEntry
from core.tests import factories
from core.tests.factories import PASSWORD

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.nightly]
PLATFORM = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def page(live_server: LiveServer, chromium: Browser, transactional_db: None) -> Iterator[Page]:
    # Passkeys need a name, not an address of the network.
    with chromium.new_page(base_url=live_server.url.replace("127.0.0.1", "localhost")) as page:
        page.set_default_timeout(60_000)
        yield page


def device(page: Page, **changed: Any) -> tuple[Any, str]:
    """A device with passkeys; return how to speak to it, and its name."""
    speaker = page.context.new_cdp_session(page)
    speaker.send("WebAuthn.enable")
    made = speaker.send("WebAuthn.addVirtualAuthenticator", {"options": {**PLATFORM, **changed}})
    return speaker, str(made["authenticatorId"])


def log_in(page: Page) -> None:
    page.goto("/login/")
    page.locator("#id_username").fill("olga@arena.example")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()


def test_a_passkey_opens_the_account_alone_or_after_the_password(page: Page) -> None:
    factories.user("olga", is_staff=True, is_superuser=True)
    speaker, name = device(page)
    log_in(page)
    page.goto("/profile/second-factor/passkeys/add/")
    page.get_by_label("Name").fill("My phone")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    page.goto("/profile/second-factor/")
    expect(page.get_by_text("Opens the account alone")).to_be_visible()
    page.goto("/admin/")
    expect(page.get_by_role("heading", name="Tables")).to_be_visible()

    # Alone, and where one was going.
    page.context.clear_cookies()
    page.goto("/admin/")
    page.get_by_role("button", name="Log in with a passkey").click()
    expect(page.get_by_role("heading", name="Tables")).to_be_visible()

    # After the password.
    page.context.clear_cookies()
    log_in(page)
    page.get_by_role("button", name="Use your passkey").click()
    page.wait_for_url("**/")
    expect(page.get_by_role("link", name="Inbox")).to_be_visible()

    # A device that does not know its owner opens nothing.
    page.context.clear_cookies()
    speaker.send("WebAuthn.setUserVerified", {"authenticatorId": name, "isUserVerified": False})
    page.goto("/login/")
    page.get_by_role("button", name="Log in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("The passkey was not used")
    assert page.request.get("/profile/").url.endswith("/login/?next=/profile/")
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["log_in", "add_passkey", "log_in", "log_in"]


def test_the_keyboard_is_enough_and_a_refusing_device_is_said(page: Page) -> None:
    factories.user("olga")
    device(page, isUserVerified=False)
    log_in(page)
    page.goto("/profile/second-factor/passkeys/add/")
    page.get_by_label("Name").focus()
    for _ in range(2):
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Add a passkey")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The passkey was not used")
    assert not Authenticator.objects.exists()
