"""People at browsers of their own, whose clicks and fields are counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.conf import settings
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

from core.models import User
from web.tests.tabs import session


class Hand:
    """A person at a page. Opening an address by hand is neither a click nor a field."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = self.fields = 0

    def open(self, path: str) -> None:
        self.page.goto(path)

    def click(self, words: str) -> None:
        """Press the button, or follow the link, with these words."""
        button = self.page.get_by_role("button", name=words, exact=True)
        button.or_(self.page.get_by_role("link", name=words, exact=True)).first.click()
        self.clicks += 1

    def _field(self, label: str) -> Locator:
        return self.page.get_by_label(re.compile(rf"^\s*{re.escape(label)}( \(optional\))?\s*$"))

    def fill(self, label: str, text: str) -> None:
        self._field(label).fill(text)
        self.fields += 1

    def choose(self, label: str, option: str) -> None:
        self._field(label).select_option(label=option)
        self.fields += 1

    def tick(self, label: str) -> None:
        self._field(label).check()
        self.fields += 1

    def attach(self, label: str, file: Path) -> None:
        self._field(label).set_input_files(file)
        self.fields += 1

    def spent(self) -> tuple[int, int]:
        """Return clicks and fields since the last call."""
        found = self.clicks, self.fields
        self.clicks = self.fields = 0
        return found


Seat = Callable[[User | None], Hand]


@contextmanager
def seats(browser: Browser, address: str) -> Iterator[Seat]:
    """Give a person a browser of their own, logged in; None for a stranger. Afterwards no console has complained."""
    troubles: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        # A page that is refused is an error of the console, too, and here on purpose.
        if message.type == "error" and "status of 40" not in message.text:
            troubles.append(message.text)

    with ExitStack() as open_windows:

        def sit(person: User | None) -> Hand:
            window = open_windows.enter_context(browser.new_context(base_url=address))
            if person is not None:
                name, value = settings.SESSION_COOKIE_NAME, session(person)
                window.add_cookies([{"name": name, "value": value, "domain": "localhost", "path": "/"}])
            page = window.new_page()
            page.on("console", hear)
            page.on("pageerror", lambda error: troubles.append(str(error)))
            return Hand(page)

        yield sit
    assert troubles == []
