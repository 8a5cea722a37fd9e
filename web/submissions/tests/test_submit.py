"""The page that submits by the id of an environment, with an account or without."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains
from pytest_django.fixtures import Settings

from core.environments import additions
from core.models import Environment, Submission, SubmissionForm
from core.tests import factories
from core.tests.factories import Cast
from tests.samples import FIRST, zip_of
from web.conftest import As
from web.site.throttling import EnvironmentThrottle, UploadThrottle
from web.submissions.status_views import LAST

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cart_pole")]
SUBMIT = "/submit/"
SCRIPT = b'import json\nprint(json.dumps({"score": 12.5}))\n'
FILE = """\
slug: gym-cart-pole-0
name: CartPole-v0
gymnasium: {id: CartPole-v0}
observation: {shape: [4], dtype: float32, wire: float32}
action_count: 2
max_steps: 200
description: A pole on a cart.
"""


@pytest.fixture
def cart_pole(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Environment:
    cache.clear()
    settings.ANONYMOUS_SUBMISSIONS = True
    monkeypatch.setattr("core.submissions.uploads.inspect_apart", lambda *_, **__: True)
    monkeypatch.setattr(additions, "described", lambda env_id, slug: FILE)
    return factories.environment("cart-pole")


def form(name: str = "dqn.py", content: bytes = SCRIPT, **fields: Any) -> dict[str, Any]:
    return {"env_id": "CartPole-v1", "archive": SimpleUploadedFile(name, content), **fields}


def test_a_visitor_submits_a_script_and_is_shown_its_id(client: Client) -> None:
    assertContains(client.get(SUBMIT), "Submit without an account")
    response = client.post(SUBMIT, form(user_id="grace", algorithm="DQN"))
    submission = Submission.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"/status/?id={submission.public_id}")
    assert (submission.user_label, submission.algorithm, submission.form) == ("grace", "DQN", SubmissionForm.SCRIPT)
    assert submission.address_digest
    page = client.get(response["Location"])
    assertContains(page, f'data-copy="id-{submission.public_id}"')
    assertContains(page, "keep it")


def test_without_a_name_a_visitor_is_anonymous(client: Client) -> None:
    client.post(SUBMIT, form())
    submission = Submission.objects.get()
    assert (submission.user_label, submission.algorithm) == ("anonymous", "")


def test_the_browser_finds_its_last_submission_again(client: Client, settings: Settings) -> None:
    settings.HTTPS = True
    client.post(SUBMIT, form())
    first = Submission.objects.get()
    cookie = client.cookies[LAST]
    assert cookie.value == str(first.public_id)
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"], cookie["path"]) == (True, True, "Lax", "/status/")
    assertContains(client.get("/status/"), str(first.public_id))
    client.post(SUBMIT, form(content=SCRIPT + b"# again\n"))
    second = Submission.objects.latest("pk")
    assertContains(client.get("/status/"), str(second.public_id))
    assertNotContains(Client().get("/status/"), str(second.public_id))


@pytest.mark.parametrize("value", ["", "nonsense", "7c9a1f2e-3b4d-4c5e-8f60-718293a4b5c6", "<script>", "x" * 4000])
def test_a_cookie_that_names_nothing_is_ignored(client: Client, value: str) -> None:
    client.cookies[LAST] = value
    response = client.get("/status/")
    assert response.status_code == 200
    assertNotContains(response, "found-title")
    assertNotContains(response, "status-error")


def test_an_id_in_the_address_comes_before_the_cookie(client: Client) -> None:
    client.post(SUBMIT, form())
    assert client.get("/status/?id=nonsense").status_code == 404


def test_the_form_needs_its_token(settings: Settings) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(SUBMIT, form()).status_code == 403
    assert not Submission.objects.exists()
    token = strict.get(SUBMIT).cookies["csrftoken"].value
    assert strict.post(SUBMIT, form(csrfmiddlewaretoken=token)).status_code == 302
    assert Submission.objects.count() == 1


def test_where_strangers_may_not_submit_they_are_asked_to_log_in(client: Client, settings: Settings) -> None:
    settings.ANONYMOUS_SUBMISSIONS = False
    for response in (client.get(SUBMIT + "?env_id=CartPole-v1"), client.post(SUBMIT, form())):
        assert (response.status_code, response["Location"].partition("?")[0]) == (302, "/login/")
    assert not Submission.objects.exists()
    assertNotContains(client.get("/environments/cart-pole/write/"), SUBMIT)
    assertNotContains(client.get("/"), SUBMIT)


def test_links_lead_to_the_form(client: Client) -> None:
    assertContains(client.get("/environments/cart-pole/write/"), "/submit/?env_id=CartPole-v1")
    assertContains(client.get("/"), SUBMIT)
    assertContains(client.get("/submit/?env_id=CartPole-v1"), 'value="CartPole-v1"')
    assertNotContains(client.get('/submit/?env_id="><script>alert(1)'), "<script>alert")


def test_with_an_account_the_submission_is_its_own(cast: Cast, visit: As) -> None:
    alice = visit(cast.alice)
    page = alice.get(SUBMIT)
    assertContains(page, "Submit to a leaderboard")
    assertNotContains(page, "user_id")
    alice.post(SUBMIT, form(user_id="olga"))
    submission = Submission.objects.get()
    assert (submission.agent.owner, submission.user_label) == (cast.alice, "")


def test_an_agent_in_a_zip_is_taken_too(client: Client) -> None:
    client.post(SUBMIT, form("player.zip", zip_of(FIRST)))
    assert Submission.objects.get().form == SubmissionForm.PLAYER


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"env_id": "Nowhere-v0"}, "There is no leaderboard of this id."),
        ({"env_id": "x" * 101}, "at most 100 characters"),
        ({"env_id": ""}, "This field is required."),
        ({"env_id": "CartPole\0-v1"}, "Null characters are not allowed."),
        ({"archive": ""}, "Choose a file."),
        ({"archive": SimpleUploadedFile("notes.txt", b"x")}, "At least one Python (.py) file is needed"),
        ({"archive": SimpleUploadedFile("bad.zip", b"no zip")}, "zip"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(client: Client, fields: dict[str, Any], sentence: str) -> None:
    response = client.post(SUBMIT, form() | fields)
    assertContains(response, sentence, status_code=422)
    assert not Submission.objects.exists()


def test_strangers_are_limited_as_in_the_api(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UploadThrottle, "THROTTLE_RATES", {"upload": "1/hour"})
    assert client.post(SUBMIT, form()).status_code == 302
    assert client.post("/api/submit/", {"file": SimpleUploadedFile("a.py", SCRIPT)}).status_code == 429
    response = client.post(SUBMIT, form())
    assertContains(response, "You have uploaded too often.", status_code=429)
    assert client.get(SUBMIT).status_code == 200


def test_an_address_has_its_quota(client: Client, settings: Settings) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "uploads_per_day": 1}
    assert client.post(SUBMIT, form()).status_code == 302
    response = client.post(SUBMIT, form(content=SCRIPT + b"#\n"))
    assertContains(response, "Daily submission quota exceeded", status_code=429)
    assert response["Retry-After"]


@pytest.mark.slow
def test_a_visitor_adds_an_environment_where_that_is_open(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.post(SUBMIT, form(env_id="CartPole-v0")).status_code == 422
    settings.OPEN_ENVIRONMENTS = "scripts"
    assertContains(client.get(SUBMIT), '<option value="CartPole-v0">')
    assert client.post(SUBMIT, form(env_id="CartPole-v0")).status_code == 302
    assert Submission.objects.get().agent.environment.slug == "gym-cart-pole-0"
    monkeypatch.setattr(EnvironmentThrottle, "THROTTLE_RATES", {"environment": "1/day"})
    cache.clear()
    for status in (422, 429):
        refused = client.post(SUBMIT, form("player.zip", zip_of(FIRST), env_id="Acrobot-v1"))
        assert refused.status_code == status
    assert Environment.objects.filter(env_id="Acrobot-v1").count() == 0
