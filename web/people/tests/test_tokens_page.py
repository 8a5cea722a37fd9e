"""The tokens of a person on the profile page."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from core.models import ApiToken
from core.people.tokens import MAX_TOKENS, token_create, token_find
from core.tests.factories import Cast
from web.conftest import As

pytestmark = pytest.mark.django_db
CREATE = "/profile/tokens/"


def test_a_new_token_is_shown_this_once(cast: Cast, visit: As) -> None:
    browser = visit(cast.alice)
    response = browser.post(CREATE, {"name": "laptop", "days": "30"})
    found = re.search(r'<code id="new-token">(arena_[\w-]+)</code>', response.content.decode())
    assert found is not None
    assert "no-store" in response["Cache-Control"]
    page = browser.get("/profile/").content.decode()
    assert found[1] not in page
    assert "not used yet" in page
    row = token_find(found[1], now=timezone.now())
    assert row is not None
    assert (row.owner, row.name) == (cast.alice, "laptop")
    assert f"<strong>laptop</strong> <code>{row.hint}…</code>" in page


def test_a_token_may_be_good_until_it_is_revoked(cast: Cast, visit: As) -> None:
    browser = visit(cast.alice)
    browser.post(CREATE, {"name": "server", "days": "0"})
    row = ApiToken.objects.get()
    assert row.expires_at is None
    response = browser.post(f"/profile/tokens/{row.pk}/revoke/", follow=True)
    assert "The token is revoked." in response.content.decode()
    assert not ApiToken.objects.exists()


def test_an_expired_token_says_so(cast: Cast, visit: As) -> None:
    token_create(owner=cast.alice, name="old", now=timezone.now() - timedelta(days=9), days=7)
    assert "Expired on" in visit(cast.alice).get("/profile/").content.decode()


def test_the_profile_can_be_saved_on_the_page_that_shows_a_new_token(cast: Cast, visit: As) -> None:
    browser = visit(cast.alice)
    page = browser.post(CREATE, {"name": "laptop", "days": "30"}).content.decode()
    (form,) = (form for form in re.findall(r"<form.*?</form>", page, re.DOTALL) if 'name="github"' in form)
    action = re.search(r'^<form[^>]* action="([^"]+)"', form)
    assert action is not None
    browser.post(action[1], {"github": "alice-codes"})
    cast.alice.refresh_from_db()
    assert cast.alice.github == "alice-codes"


def test_who_comes_from_the_login_finds_the_tokens_on_the_profile(cast: Cast, visit: As) -> None:
    row, _ = token_create(owner=cast.alice, name="mine", now=timezone.now(), days=None)
    for address in (CREATE, f"{CREATE}{row.pk}/revoke/"):
        assert visit(None).post(address)["Location"] == f"/login/?next={address}"
        assert visit(cast.alice).get(address)["Location"] == "/profile/#tokens"
    assert ApiToken.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize(
    "fields", [{"name": "", "days": "30"}, {"name": "x" * 51, "days": "30"}, {"name": "x", "days": "7"}]
)
def test_what_is_wrong_comes_back_with_the_form(cast: Cast, visit: As, fields: dict[str, str]) -> None:
    response = visit(cast.alice).post(CREATE, fields)
    assert response.status_code == 422
    assert response.context["token_form"].errors
    assert not ApiToken.objects.exists()


def test_there_is_an_end_to_how_many(cast: Cast, visit: As) -> None:
    for number in range(MAX_TOKENS):
        token_create(owner=cast.alice, name=str(number), now=timezone.now(), days=None)
    response = visit(cast.alice).post(CREATE, {"name": "more", "days": "30"})
    assert response.status_code == 422
    assert "Revoke one first." in response.content.decode()


def test_tokens_are_one_s_own(cast: Cast, visit: As) -> None:
    row, _ = token_create(owner=cast.alice, name="mine", now=timezone.now(), days=None)
    assert "mine" not in visit(cast.bob).get("/profile/").content.decode()
    assert visit(cast.bob).post(f"/profile/tokens/{row.pk}/revoke/").status_code == 404
    assert visit(None).post(CREATE, {"name": "x", "days": "30"})["Location"] == f"/login/?next={CREATE}"
    assert ApiToken.objects.filter(pk=row.pk).exists()


def test_a_form_from_another_site_makes_no_token(cast: Cast) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(cast.alice)
    assert browser.post(CREATE, {"name": "x", "days": "30"}).status_code == 403
    assert not ApiToken.objects.exists()


def test_an_organiser_can_take_a_token_away(cast: Cast, visit: As) -> None:
    row, token = token_create(owner=cast.alice, name="lost", now=timezone.now(), days=None)
    admin = visit(cast.olga)
    page = admin.get("/organise/tokens/").content.decode()
    assert "lost" in page
    assert row.digest not in page
    assert admin.get("/admin/core/apitoken/add/").status_code == 403
    admin.post(f"/organise/do/apitoken/{row.pk}/revoke/")
    assert token_find(token, now=timezone.now()) is None
