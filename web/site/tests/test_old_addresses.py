"""Addresses of the older systems lead to ours, and what organisers say about their site is on it."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from core.models import Environment, User
from core.submissions.descriptions import agent_describe
from core.tests import factories
from web.site.tests.test_limits import rates
from web.tests.arena import Stage


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("create_account/", "/sign-up/"),
        ("user/ada/", "/users/ada/"),
        ("environment/quarto/", "/environments/quarto/"),
        ("environment/quarto/?page=2", "/environments/quarto/?page=2"),
        ("environment/quarto/competitor/bot/", "/environments/quarto/agents/bot/"),
        ("environment/quarto/tournament/7/", "/environments/quarto/editions/7/"),
        ("environment/quarto/tournament/7/competitor/bot/", "/environments/quarto/editions/7/agents/bot/"),
        ("environment/quarto/tournament/7/duel/bot/rival/", "/environments/quarto/editions/7/agents/bot/"),
        ("environment/quarto/tournament/7/duel/bot/rival/3/?x=1", "/environments/quarto/editions/7/agents/bot/?x=1"),
        ("duel/12/logs/", "/duels/12/logs/arena/"),
        ("duel/12/results/", "/duels/12/results.json.gz"),
        ("docs", "/api/docs"),
        ("openapi.json", "/api/schema"),
    ],
)
def test_an_old_address_leads_to_ours_for_good(client: Client, old: str, new: str) -> None:
    answer = client.get(f"/{old}")
    assert (answer.status_code, answer["Location"]) == (301, new)


@pytest.mark.django_db
def test_the_organisers_text_is_cleaned_and_linked_with_the_source(client: Client, settings: Settings) -> None:
    settings.SOURCE_URL = "https://forge.example/arena"
    settings.ORGANISER_TEXT = "Run by **us**.\n\n<script>alert(1)</script> [x](javascript:alert(1))"
    html = client.get("/").content.decode()
    assert "Run by <strong>us</strong>." in html
    assert "<script>alert" not in html
    assert 'href="javascript' not in html
    assert '<a href="https://forge.example/arena" rel="noopener">Source code</a>' in html
    settings.SOURCE_URL = settings.ORGANISER_TEXT = ""
    html = client.get("/").content.decode()
    assert "Source code" not in html
    assert "organisers" not in html


def test_crawlers_are_asked_to_skip_logs_and_the_api(client: Client) -> None:
    lines = client.get("/robots.txt").content.decode().splitlines()
    assert {"Disallow: /api/", "Disallow: /*/logs/", "Disallow: /login/"} <= set(lines)


@pytest.mark.django_db
def test_the_rules_of_an_environment_are_a_download(client: Client, environment: Environment) -> None:
    assert b"Download the rules" in client.get(f"/environments/{environment.slug}/rules/").content
    answer = client.get(f"/environments/{environment.slug}/rules.zip")
    names = zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
    assert {"info.yml", "environment.py"} <= {name.rpartition("/")[2] for name in names}
    assert [name for name in names if "__pycache__" in name] == []


@pytest.mark.django_db
@pytest.mark.parametrize("slug", ["tic-tac-toe", "cart-pole"])
def test_rules_that_are_no_longer_here_are_not_offered(client: Client, slug: str) -> None:
    environment = factories.environment(slug) if slug == "tic-tac-toe" else factories.task(slug)
    for version, status in ((environment.version, 200), (99, 404)):
        Environment.objects.update(version=version)
        link = f"/environments/{slug}/rules.zip"
        assert (link.encode() in client.get(f"/environments/{slug}/rules/").content) is (status == 200)
        assert client.get(link).status_code == status


@pytest.mark.django_db
def test_packed_folders_have_a_limit_that_pages_and_programs_share(
    client: Client, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates(monkeypatch, results="3/minute")
    page, api = (f"{base}environments/{environment.slug}/" for base in ("/", "/api/v1/"))
    addresses = (f"{page}rules.zip", f"{api}folder.zip", f"{page}kits/random.zip", f"{api}folder.zip")
    assert [client.get(address).status_code for address in addresses] == [200, 200, 200, 429]
    assert "results and environments" in client.get(f"{page}rules.zip").content.decode()


@pytest.mark.django_db
def test_a_description_keeps_its_spaces_and_joiners_and_nothing_that_turns_text(stage: Stage) -> None:
    agent = stage.anna.agent
    agent_describe(agent=agent, description="10\u00a0000 games\u202e,\t👩\u200d👩\r\nnext\x07\u2028")
    assert agent.description == "10\u00a0000 games,\t👩\u200d👩\nnext"


@pytest.mark.django_db
def test_an_owner_describes_an_agent_and_nobody_else_does(client: Client, stage: Stage) -> None:
    agent = stage.anna.agent
    page = f"/environments/{agent.environment.slug}/agents/{agent.name}/"
    text = {"description": "Learned by **self-play**.\r\n<img src=x onerror=alert(1)>\x00"}
    stranger = factories.user("stranger")
    client.force_login(stranger)
    assert client.post(f"{page}description/", text).status_code in {403, 404}
    client.force_login(agent.owner)
    assert client.post(f"{page}description/", text).status_code == 302
    html = client.get(page).content.decode()
    assert "Learned by <strong>self-play</strong>." in html
    assert "<img src=x" not in html
    client.post(f"{page}description/", {"description": "x" * 2001})
    agent.refresh_from_db()
    assert agent.description.startswith("Learned by")
    assert b"longer than 2000 characters" in client.get(page).content


@pytest.mark.django_db
def test_a_version_says_on_what_it_is_built(client: Client, stage: Stage) -> None:
    submission = stage.anna
    build = factories.build(submission, base_image="rl-arena-base (Python 3.11.2)")
    owner: User = submission.agent.owner
    client.force_login(owner)
    page = f"/environments/{submission.agent.environment.slug}/agents/{submission.agent.name}/"
    assert f"Built on {build.base_image}." in client.get(page).content.decode()
