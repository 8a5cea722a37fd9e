"""Addresses of the older systems lead to ours, and what organisers say about their site is on it."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from core.models import Environment, User
from core.tests import factories
from core.tests.factories import Cast
from web.tests.arena import Stage, staged


@pytest.fixture
def stage(cast: Cast, environment: Environment) -> Stage:
    return staged(cast, environment)


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
        ("environment/quarto/tournament/7/duel/bot/rival/3/", "/environments/quarto/editions/7/agents/bot/"),
        ("duel/12/logs/", "/duels/12/logs/arena/"),
        ("duel/12/results/", "/duels/12/results.json.gz"),
        ("docs/", "/api/docs"),
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
    assert b"Download the rules" in client.get(f"/environments/{environment.slug}/").content
    answer = client.get(f"/environments/{environment.slug}/rules.zip")
    names = zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
    assert {"info.yml", "environment.py"} <= {name.rpartition("/")[2] for name in names}
    assert [name for name in names if "__pycache__" in name] == []


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
