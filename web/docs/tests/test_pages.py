"""The documentation on the site, and the search."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from core.models import Environment
from core.people.services import anonymous_ensure
from core.submissions.naming import agent_rename
from core.tests import factories
from core.tests.factories import Cast
from web.docs.pages import doc_pages
from web.docs.rendering import render_document
from web.docs.search import doc_search, search_words


def test_every_file_of_the_documentation_is_a_page_in_a_group() -> None:
    files = sorted((Path(settings.BASE_DIR) / "docs").rglob("*.md"))
    pages = doc_pages()
    assert len(pages) == len(files)
    assert [page.name for page in pages.values() if page.name and page.name != "quickstart" and not page.group] == []
    assert pages["participant/agents"].address == "/docs/participant/agents/"
    assert pages[""].address == "/docs/"


def test_links_between_pages_lead_to_their_pages_and_headings() -> None:
    pages = doc_pages()
    by_address = {page.address: page for page in pages.values()}
    lost = []
    for page in pages.values():
        for link in re.findall(r'href="([^"]+)"', page.html):
            address, _, anchor = link.partition("#")
            if "://" in link or link.startswith("mailto:"):
                continue
            target = by_address.get(address) if address else page
            if target is None or (anchor and anchor not in {one.heading.anchor for one in target.sections}):
                lost.append((page.name, link))
    assert lost == []


def test_every_word_that_a_page_explains_is_in_the_glossary_in_a_sentence_or_two() -> None:
    sections = doc_pages()["participant/glossary"].sections
    entries = {one.heading.title: one for one in sections if one.heading.level > 2}
    assert len({one.heading.anchor for one in entries.values()}) == len(entries) > 40
    assert [title for title, one in entries.items() if not 20 < len(one.text) < 320] == []
    templates = (Path(settings.BASE_DIR) / "web" / "templates").rglob("*.html")
    lines = [tag for path in templates for tag in re.findall(r"{% glossary ([^%]+)%}", path.read_text())]
    assert len(lines) >= 5
    assert [word for line in lines for word in re.findall(r'"([^"]+)"', line) if word not in entries] == []


@pytest.mark.parametrize("word", ["ply", "provisional", "bye"])
def test_the_search_finds_a_word_in_the_glossary_first(word: str) -> None:
    hit = doc_search(word.split(), limit=1)[0]
    assert (hit.page.name, hit.section.heading.title.lower()) == ("participant/glossary", word)


def test_raw_html_is_shown_as_text_and_code_is_no_word_of_a_script() -> None:
    done = render_document(
        "# A\n\n<script>x()</script> [b](javascript:x)\n\n## B `c`\n\n```\nd\n```", "pages/a.md", str
    )
    assert "<script>" not in done.html
    assert 'href="javascript' not in done.html
    assert [(one.heading.title, one.heading.anchor, one.text) for one in done.sections] == [
        ("A", "a", "<script>x()</script> [b](javascript:x)"),
        ("B c", "b-c", "d"),
    ]
    assert '<pre tabindex="0">' in done.html


def test_a_link_to_a_file_that_the_site_does_not_show_leads_nowhere() -> None:
    html = render_document("# A\n\n[b](../b.env) [c](c.md#d)", "pages/x/a.md", {"pages/x/c.md": "/docs/x/c/"}.get).html
    assert html.splitlines()[1] == '<p><a>b</a> <a href="/docs/x/c/#d">c</a></p>'


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("elo", "participant/glossary/#rating"), ("rating", "participant/glossary/#rating"),
        ("how do i upload", "participant/agents/#pack-and-upload"),
        ("How do I upload an agent?", "participant/agents/#pack-and-upload"),
        ("what is an edition", "participant/glossary/#edition"),
        ("how long may a move take", "participant/agents/#the-contract"),
        ("which python packages", "participant/forms/#packages"),
        ("forgot password", "participant/account/#e-mail"),
        ("reset password", "participant/account/#sessions-passwords-tokens"),
        ("why did I lose", "participant/results/#why-you-lose"),
        ("compare two agents", "participant/versions/#compare-two-agents-or-versions"),
        ("second factor", "participant/account/#a-second-factor"),
        ("delete my account", "participant/account/#your-data"), ("api token", "reference/api/#tokens"),
        ("play against an agent", "participant/sittings/"), ("install arena", "participant/command/#install-it"),
        ("windows", "participant/command/#systems"), ("tournament", "participant/glossary/#tournament"),
        ("confidence interval", "participant/results/#leaderboards-and-ratings"),
        ("replay", "participant/results/#replays"), ("how do i log in", "participant/account/#log-in"),
        ("leaderboard", "participant/results/#leaderboards-and-ratings"),
        ("promotion test", "participant/versions/#the-promotion-test"),
        ("backup", "operator/backup/#what-a-backup-contains"), ("add a game", "contributor/environments/#add-a-game"),
    ],
)  # fmt: skip
def test_questions_of_people_find_their_answers(question: str, answer: str) -> None:
    """Among the first two: what a question has besides its subject, and what only contains a word, finds nothing."""
    found = [hit.address for hit in doc_search(search_words(question, most=10), limit=2)]
    assert f"/docs/{answer}" in found


def test_the_search_in_the_documentation_ranks_titles_above_text() -> None:
    hits = doc_search(["REFEREE"], limit=10)
    assert hits[0].page.name == "reference/referee"
    assert len(hits) == 10
    assert doc_search(["referee", "no-such-word-anywhere"], limit=10) == []


@pytest.mark.django_db
def test_pages_of_the_documentation_answer_with_their_contents(client: Client) -> None:
    assertContains(client.get("/docs/"), 'href="/docs/participant/agents/"')
    page = client.get("/docs/participant/agents/")
    assertContains(page, '<a href="#what-happens-then">What happens then</a>')
    assertContains(page, 'aria-current="page">Write and submit an agent</a>')
    assertContains(client.get("/docs/participant/nothing/"), "no such page", status_code=404)


@pytest.mark.django_db
def test_the_page_for_newcomers_has_five_pictures_and_nothing_for_operators(client: Client) -> None:
    page = client.get("/how/").content.decode()
    main = page.partition("<main")[2].partition("</main>")[0]
    assert (main.count("<svg"), main.count("<h2>")) == (5, 5)
    assert re.findall(r"Kubernetes|TLS|make demo|ladder|edition|ply|calibration", main) == []
    assert len(re.sub(r"<[^>]+>", " ", main).split()) < 330, "one minute"
    assert 'href="/how/"' in client.get("/").content.decode()
    assert 'href="/how/"' in client.get("/docs/").content.decode()


@pytest.mark.django_db
def test_the_index_leads_by_reader_and_folds_what_newcomers_do_not_need(client: Client) -> None:
    shown, _, folded = client.get("/docs/").content.decode().partition("<details")
    assert shown.index('id="you-upload-agents"') < shown.index('id="you-organise-competitions"')
    for anchor in ("you-operate-the-arena", "you-change-the-code", "you-look-something-up"):
        assert f'id="{anchor}"' in folded
    assert "Kubernetes" not in shown


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("why did I lose", "/docs/participant/results/#why-you-lose"),
        ("compare two agents", "/docs/participant/versions/#compare-two-agents-or-versions"),
        ("reset password", "/password-reset/"), ("I forgot my password", "/password-reset/"),
        ("tic-tac-toe rules", "/environments/tic-tac-toe/rules/"),
        ("rules of tic tac toe", "/environments/tic-tac-toe/rules/"),
        ("compare tic-tac-toe", "/environments/tic-tac-toe/compare/"),
        ("old-name", "/environments/tic-tac-toe/agents/renamed/"),
    ],
)  # fmt: skip
def test_questions_lead_to_the_right_page_first(
    client: Client, cast: Cast, environment: Environment, question: str, answer: str
) -> None:
    for name in ("older", "old-names", "other"):
        factories.ready(factories.agent(cast.bob, environment, name))
    row = factories.agent(cast.alice, environment, "old-name")
    factories.ready(row)
    agent_rename(agent=row, name="renamed")
    page = client.get("/search/", {"q": question}).content.decode()
    found = page.partition('<section class="found"')[2]
    assert re.findall(r'href="([^"]+)"', found)[0] == answer


@pytest.mark.django_db
@pytest.mark.both_databases
def test_a_search_finds_agents_people_environments_and_documentation(
    client: Client, cast: Cast, environment: Environment
) -> None:
    factories.ready(factories.agent(cast.alice, environment, "Deep-Referee"))
    factories.ready(factories.agent(cast.bob, environment, "referee"))
    found = client.get("/search/?q=REFEREE")
    assert [agent.name for agent, _ in found.context["agents"]] == ["referee", "Deep-Referee"]
    assertContains(found, 'href="/docs/reference/referee/"')
    assert [person.username for person in client.get("/search/?q=ali").context["people"]] == ["alice"]
    # People without an agent have no place on the site, and the account of visitors is no person.
    factories.agent(anonymous_ensure(), environment, "strange")
    assert client.get("/search/?q=charlie").context["people"] == client.get("/search/?q=anonym").context["people"] == []
    assert client.get("/search/?q=tic tac").context["environments"] == [environment]
    assert [agent.name for agent, _ in client.get("/search/?q=referee bob").context["agents"]] == ["referee"]


@pytest.mark.django_db
def test_a_search_names_no_closed_account_and_takes_any_text(client: Client, cast: Cast) -> None:
    cast.bob.is_active = False
    cast.bob.save()
    assert client.get("/search/?q=bob").context["people"] == []
    odd = client.get("/search/", {"q": "%_\0<script>alert(1)</script>" * 20})
    assertNotContains(odd, "<script>alert")
    assertContains(odd, "Nothing here has")
    assertNotContains(client.get("/search/"), "Nothing here has")


def test_an_environment_is_found_by_the_beginning_of_a_word_of_its_description(
    client: Client, cast: Cast, environment: Environment
) -> None:
    Environment.objects.filter(pk=environment.pk).update(description="A pole with an angular velocity.")
    assert client.get("/search/?q=elo").context["environments"] == []
    assert client.get("/search/?q=Veloc pole").context["environments"] == [environment]
