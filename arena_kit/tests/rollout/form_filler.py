"""Carries out the oracle of a task without a browser: opens pages, fills their forms and sends them.

Runs within a world, so it uses the standard library alone. It reads a JSON list from its first argument: the address of
the application, and actions such as ["click", "role=button[name=Save]"].
"""

from __future__ import annotations

import html.parser
import http.cookiejar
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

BUTTON = re.compile(r"role=button\[name=(.+)\]")


@dataclass
class Form:
    """A form of a page, with what its controls hold."""

    target: str
    method: str
    values: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)
    buttons: list[str] = field(default_factory=list)


class Page(html.parser.HTMLParser):
    """Reads the forms of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._text, self._label, self._select, self._is_chosen = "", "", "", False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("method", "get")))
        elif tag == "option":
            self._text, self._is_chosen = "", "selected" in given
        elif tag in ("label", "button"):
            self._text = ""
        elif tag in ("input", "select") and self.forms:
            form, name = self.forms[-1], given["name"]
            form.values[name] = given.get("value", "")
            form.labels[self._text.strip()] = name
            self._select = name if tag == "select" else ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "option":
            form, options = self.forms[-1], self.forms[-1].options.setdefault(self._select, [])
            if self._is_chosen or not options:
                form.values[self._select] = self._text
            options.append(self._text)
        elif tag == "button":
            self.forms[-1].buttons.append(self._text)


class Visitor:
    """Visits the pages of an application."""

    def __init__(self, home: str) -> None:
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        self._here, self.page = home, Page("")
        self.seen = ""
        """The text of all pages."""

    def goto(self, address: str, data: bytes | None = None) -> None:
        """Open an address; a page that says no is a page."""
        try:
            with self._opener.open(urllib.parse.urljoin(self._here, address), data) as answer:
                self._here, text = answer.geturl(), answer.read()
        except urllib.error.HTTPError as refused:
            if refused.code >= 500:
                raise
            text = refused.read()
        self.page = Page(text.decode())
        self.seen += text.decode()

    def select(self, selector: str, values: list[str]) -> None:
        """Choose an option by the label of its control."""
        self.fill(selector, values[0])

    def fill(self, selector: str, text: str) -> None:
        """Fill a control by its label."""
        label = selector.removeprefix("label=")
        form = next(form for form in self.page.forms if label in form.labels)
        name = form.labels[label]
        if text not in form.options.get(name, [text]):
            raise ValueError(f"{label} has no option {text}")
        form.values[name] = text

    def click(self, selector: str) -> None:
        """Send the form of a button."""
        match = BUTTON.fullmatch(selector)
        form = next(form for form in self.page.forms if match and match[1] in form.buttons)
        sent = urllib.parse.urlencode(form.values)
        if form.method == "post":
            self.goto(form.target, sent.encode())
        else:
            self.goto(f"{form.target}?{sent}")


def play(home: str, actions: list[Any]) -> str:
    """Carry out actions up to the answer; return the text of all pages."""
    visitor = Visitor(home)
    for name, *arguments in actions:
        if name in ("answer", "give_up"):
            break
        acts: dict[str, Callable[..., None]] = {
            "goto": visitor.goto, "fill": visitor.fill, "select_option": visitor.select, "click": visitor.click,
        }  # fmt: skip
        acts[name](*arguments)
    return visitor.seen


if __name__ == "__main__":
    play(*json.loads(sys.argv[1]))
