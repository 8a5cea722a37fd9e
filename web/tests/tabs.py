"""A tab that the browser tests of a module share: opening one costs more than what most of them do in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.test import Client
from playwright.sync_api import ConsoleMessage, Error, Page

from core.models import User


@contextmanager
def used(tab: Page, cookie: str = "", *, complains: bool = False) -> Iterator[Page]:
    """Lend the tab to one test, in which its console stays empty. Afterwards the tab has forgotten everything.

    cookie: of the session of who looks. complains: whether its console may say what is wrong.
    """
    troubles: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            troubles.append(f"{tab.url}: {message.text}")

    def fail(error: Error) -> None:
        troubles.append(f"{tab.url}: {error}")

    tab.on("console", hear)
    tab.on("pageerror", fail)
    try:
        if cookie:
            name = settings.SESSION_COOKIE_NAME
            tab.context.add_cookies([{"name": name, "value": cookie, "domain": "localhost", "path": "/"}])
        yield tab
    finally:
        tab.remove_listener("console", hear)
        tab.remove_listener("pageerror", fail)
        tab.unroute_all()
        origin = tab.evaluate("origin")
        tab.goto("about:blank")
        tab.context.clear_cookies()
        if origin != "null":
            everything = {"origin": origin, "storageTypes": "all"}
            tab.context.new_cdp_session(tab).send("Storage.clearDataForOrigin", everything)
    assert complains or not troubles, troubles


def session(person: User) -> str:
    """The cookie of a person who is logged in."""
    client = Client()
    client.force_login(person)
    return client.cookies[settings.SESSION_COOKIE_NAME].value
