"""Words of others stay words on every page, whatever is written in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.fixtures import Settings

from arena_kit.text import plain_line
from core.models import ApiToken, Environment, Submission, User
from core.people.tokens import token_create
from core.tests import factories
from core.tests.factories import NOON, PASSWORD, Cast
from tests.databases import rolled_back
from tests.samples import zip_of
from web.conftest import As
from web.templatetags.arena import markdown
from web.tests.hostile import LONG, MARKDOWN, PAGES, SHORT, infested

pytestmark = pytest.mark.django_db
PLAYER = "class Player:\n    pass\n"
Skeleton = list[tuple[str, tuple[str, ...]]]
NAMES = [
    *SHORT, "", " ", ".", "..", "-a", "a-", "a b", "a/b", "a\\b", "a\x00b", "a\nb", "a\u200bb", "a\u202eb", "\u3164",
    "\uffa0a", "аdmin", "ａdmin", "x" * 51, "\ud800", "a\u0301\u0301\u0301\u0301",
]  # fmt: skip
ADDRESSES = [
    "/users/{}/", "/environments/{}/", "/environments/tic-tac-toe/agents/{}/",
    "/environments/tic-tac-toe/editions/1/agents/{}/", "/environments/tic-tac-toe/compare/?id={}", "/status/?id={}",
    "/leaderboard/{}", "/submissions/{}", "/api/results/{}", "/duels/1/logs/{}/", "/admin/core/user/{}/change/",
    "/starter-kit/{}.zip", "/static/{}",
]  # fmt: skip
"""Every kind of address with words in it."""


class Tags(HTMLParser):
    """Tags with the names of their attributes, in order; addresses and styles are looked at."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: Skeleton = []
        self.active: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))
        for name, value in attrs:
            target = "".join((value or "").split()).lower()
            if name.startswith("on") or name in ("style", "srcdoc"):
                self.active.append(f"{tag} {name}")
            if name in ("href", "src", "action", "formaction", "data") and not target.startswith(
                ("/", "#", "?", "http://testserver/", "https://", "mailto:", "data:image/svg+xml", "data:,", "otpauth:")
            ):
                self.active.append(f"{tag} {name}={target[:40]}")


def skeletons(client: Client, house: dict[str, Any]) -> Iterator[tuple[str, Tags]]:
    for address in PAGES:
        response: Any = client.get(address.format(**house), follow=True)
        assert response.status_code in (200, 404), address
        yield address, Tags(response.content.decode())


def built_with(cast: Cast, client: Client, short: str, long: str, text: str) -> dict[str, Tags]:
    with rolled_back():
        return dict(skeletons(client, infested(cast, short, long, text)))


@pytest.mark.parametrize("short", [SHORT[0], *(pytest.param(one, marks=pytest.mark.nightly) for one in SHORT[1:])])
@pytest.mark.slow
def test_no_page_takes_words_for_tags(cast: Cast, visit: As, short: str) -> None:
    """With hostile words in every field a page has the very tags that it has with harmless ones.

    Who looks owns all of it and organises, so that nothing is hidden.
    """
    cast.alice.is_staff = cast.alice.is_superuser = True
    cast.alice.save()
    client = visit(cast.alice)
    plain = LONG.translate(dict.fromkeys(map(ord, "<>&\"'{}"), "x"))
    harmless = built_with(cast, client, "x" * len(SHORT[0]), plain, "x")
    for address, tags in built_with(cast, client, short, LONG, "x").items():
        assert tags.active == [], address
        assert tags.found == harmless[address].found, address


@pytest.mark.slow
def test_descriptions_in_markdown_hold_nothing_active(cast: Cast, visit: As) -> None:
    hostile = built_with(cast, visit(None), "x", "x", MARKDOWN)
    assert [address for address, tags in hostile.items() if tags.active] == []
    allowed = {"svg", "path", "line", "circle", "rect", "text", "g"}
    foreign = {"iframe", "object", "embed", "base", "style", "math", "form", "button"}
    description = Tags(markdown(MARKDOWN))
    assert description.active == []
    assert not {tag for tag, _ in description.found} & (foreign | allowed | {"script", "img", "meta", "link"})
    assert {name for _, names in description.found for name in names} <= {"href", "title", "rel"}


@pytest.mark.parametrize("name", NAMES)
def test_an_unreadable_user_name_is_refused(name: str) -> None:
    """What an account may be called is one line of letters that are seen, or it is refused."""
    sent = name.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    form = {"email": "dora@arena.example", "username": sent, "password1": PASSWORD, "password2": PASSWORD}
    answer = Client().post("/sign-up/", form)
    taken = User.objects.values_list("username", flat=True).first()
    if taken is None:
        assert answer.status_code == 200
    else:
        assert plain_line(taken) == taken
        assert taken.isprintable()
        assert len(taken) <= 150
        assert Client().get(f"/users/{taken}/").status_code == 200


@pytest.mark.parametrize("name", [name for name in NAMES if name != "\ud800"])
def test_an_agent_is_called_by_plain_letters_or_is_refused(
    cast: Cast, environment: Environment, visit: As, name: str
) -> None:
    archive = SimpleUploadedFile("a.zip", zip_of(PLAYER))
    address = f"/environments/{environment.slug}/agents/"
    assert visit(cast.alice).post(address, {"name": name, "archive": archive}).status_code == 422
    assert not Submission.objects.exists()


@pytest.mark.parametrize("label", [*SHORT, "a\u202eb\u200bc\u3164", "  two\t\nlines ", "Z" + "\u0336" * 60])
def test_labels_are_kept_as_one_readable_line(cast: Cast, visit: As, label: str) -> None:
    task = factories.task()
    form = {"name": "mine", "algorithm": label, "archive": SimpleUploadedFile("a.zip", zip_of(PLAYER))}
    assert visit(cast.alice).post(f"/environments/{task.slug}/agents/", form).status_code == 302
    kept = Submission.objects.get().algorithm
    assert kept == plain_line(label)
    assert kept.isprintable()


@pytest.mark.parametrize("name", ["\ud800", "a\x00b"])
def test_the_api_refuses_what_cannot_be_stored(cast: Cast, client: Client, name: str) -> None:
    sent = json.dumps({"email": cast.alice.email, "password": PASSWORD, "name": name})
    assert client.post("/api/v1/tokens/", sent, content_type="application/json").status_code == 400
    assert not ApiToken.objects.exists()


def test_names_of_tokens_are_readable(cast: Cast) -> None:
    for given, kept in (("lap\u202etop", "laptop"), ("\u3164", "unnamed"), (" my  phone ", "my phone")):
        assert token_create(owner=cast.alice, name=given, now=NOON, days=365)[0].name == kept


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("word", ["%00", "%ED%A0%80", "%E2%80%AE", "%C0%AF", "%F0%9F%92%A9" * 200])
def test_no_address_breaks_the_site(cast: Cast, environment: Environment, visit: As, address: str, word: str) -> None:
    response = visit(cast.olga).get(address.format(word), follow=True)
    assert response.status_code in (200, 400, 404)


def test_only_one_module_writes_files_for_spreadsheets(settings: Settings) -> None:
    """`test_exports.py` shows that it writes no formulas."""
    found = [path for room in ("core", "web") for path in (settings.BASE_DIR / room).rglob("*.py")]
    writers = [path.name for path in found if "tests" not in path.parts and "csv.writer(" in path.read_text()]
    assert writers == ["exports.py"]
