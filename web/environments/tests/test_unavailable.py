"""An environment that this arena cannot play: shown as such, without a form, and told to organisers."""

from __future__ import annotations

from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from arena_kit.tests.environment.own import coded, described, own_folder
from core.models import Agent, Alarm, Environment
from core.tests import factories
from core.tests.factories import Cast
from tests.samples import FIRST
from web.conftest import As
from web.environments.tests.synced import few_are_shipped

pytestmark = pytest.mark.django_db
SENTENCE = "LunarLander is not available on this arena at the moment. The organisers can see why."
WHY = 'LunarLander-v3 needs packages that are not installed here (extra `box2d`). Run `pip install "gymnasium[box2d]"`.'

OF_A_CART = {"shape": [4], "dtype": "float32", "wire": "float32"}


@pytest.fixture
def environment(db: None) -> Environment:
    row = factories.task("lunar-lander")
    row.unavailable_because = WHY
    row.save()
    return row


def test_its_card_is_grey_and_its_page_has_no_form(cast: Cast, environment: Environment, visit: As) -> None:
    for person in (None, cast.alice, factories.user("helper", is_staff=True)):
        client = visit(person)
        home, page = client.get("/").content.decode(), client.get("/environments/lunar-lander/").content.decode()
        assert 'class="card unavailable"' in home
        assert "Not available here" in home
        assert "LunarLander is not available on this arena" in page
        assert 'type="file"' not in page
        assert 'href="#upload"' not in page
        assert "pip install" not in home + page


def test_organisers_read_why_on_its_page_and_on_their_overview(cast: Cast, environment: Environment, visit: As) -> None:
    client = visit(cast.olga)
    assert "gymnasium[box2d]" in client.get("/environments/lunar-lander/").content.decode()
    index = client.get("/organise/").content.decode()
    assert "Not available here:" in index
    assert f"/organise/environments/#{environment.slug}" in index
    assert "gymnasium[box2d]" in client.get("/organise/environments/").content.decode()
    Environment.objects.update(is_active=False)
    assert "Not available here:" not in client.get("/organise/").content.decode()


def test_an_upload_is_refused_with_a_sentence(cast: Cast, environment: Environment, visit: As) -> None:
    client, files = visit(cast.alice), {"archive": SimpleUploadedFile("player.py", FIRST.encode())}
    response = client.post("/environments/lunar-lander/agents/", {"name": "lander", **files})
    assert response.status_code == 422
    assert response.context["form"].errors["archive"] == [SENTENCE]
    agent = factories.agent(cast.alice, environment, "older")
    files = {"archive": SimpleUploadedFile("player.py", FIRST.encode())}
    response = client.post("/environments/lunar-lander/agents/older/versions/", files)
    assert response.status_code == 422
    assert list(Agent.objects.all()) == [agent]
    assert not agent.submissions.exists()


def synced() -> list[str]:
    output = StringIO()
    with suppress(CommandError):  # after everything else, when something is left out
        call_command("sync_environments", stdout=output)
    return output.getvalue().splitlines()


@pytest.mark.slow
def test_what_is_missing_and_what_is_broken_is_found_when_environments_are_synced(
    cast: Cast, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_are_shipped(monkeypatch, "missing", "mended", "broken", "once-good")
    settings.ENVIRONMENTS_DIR = tmp_path
    monkeypatch.syspath_prepend(str(tmp_path))
    described(tmp_path, "missing", "no_such_module:Name-v0")
    good = coded(tmp_path, "mended", "pass")
    described(tmp_path, "broken", coded(tmp_path, "broken", "raise OSError('no licence')"))
    described(tmp_path, "once-good", coded(tmp_path, "spoilt", "raise OSError('gone')"))
    (tmp_path / "unreadable.yml").write_text("slug: [\n")
    factories.agent(cast.alice, factories.environment("quarto"))
    once_good = Environment.objects.get()
    once_good.pk, once_good.slug, once_good.env_id = None, "once-good", "once-good"
    once_good.save(force_insert=True)
    factories.agent(cast.alice, once_good)

    with own_folder(tmp_path, monkeypatch):
        said = synced()
        available = dict(Environment.objects.values_list("slug", "unavailable_because"))
        described(tmp_path, "broken", good)
    assert "no_such_module" in available["missing"]
    # Left out; what has agents stays, and says so.
    assert "broken" not in available
    assert "gone" in available["once-good"]
    assert not any(why for slug, why in available.items() if slug not in {"missing", "once-good"})
    assert [line for line in said if line.startswith("missing: not available here.")]
    assert len([line for line in said if line.startswith("Left out: ")]) == 2
    alarms = {alarm.key: alarm.message for alarm in Alarm.objects.filter(settled_at=None)}
    assert set(alarms) == {"environments-left-out", "environment-once-good-unavailable"}
    assert "no licence" in alarms["environments-left-out"]
    assert "unreadable.yml is not YAML" in alarms["environments-left-out"]

    (tmp_path / "unreadable.yml").unlink()
    described(tmp_path, "once-good", "CartPole-v1", env_id="once-good", observation=OF_A_CART)
    with own_folder(tmp_path, monkeypatch):
        synced()
    assert not Alarm.objects.filter(settled_at=None).exists()
    assert Environment.objects.get(slug="broken").is_available
    assert Environment.objects.get(slug="once-good").is_available


@pytest.mark.slow
def test_a_picture_that_is_no_file_of_the_site_breaks_no_page(
    cast: Cast, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, visit: As
) -> None:
    few_are_shipped(monkeypatch, "mine")
    settings.ENVIRONMENTS_DIR = tmp_path
    described(tmp_path, "mine", "CartPole-v1", env_id="Mine-v1", image="mine.svg", observation=OF_A_CART)
    with own_folder(tmp_path, monkeypatch):
        synced()
    row = Environment.objects.get(slug="mine")
    assert row.image == "environments/gymnasium/gymnasium.svg"
    # A row of an older release, on a real site, whose manifest knows the files of its checkout.
    Environment.objects.filter(pk=row.pk).update(image="environments/gymnasium/mine.svg")
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"},
    }
    others = ["admin*", "debug_toolbar*", "drf_spectacular*", "rest_framework*"]
    call_command("collectstatic", verbosity=0, interactive=False, ignore_patterns=others)
    for address in ("/", "/environments/mine/"):
        response = visit(cast.alice).get(address)
        assert response.status_code == 200
        assert "environments/gymnasium/gymnasium." in response.content.decode()
