"""The page of a person's tokens."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from core.models import ApiToken
from core.people.tokens import MAX_TOKENS, token_create, token_find
from core.tests.factories import PASSWORD, Cast
from web.conftest import As
from web.people.tests.shown import just_shown

pytestmark = pytest.mark.django_db
CREATE = "/profile/tokens/"


def test_a_new_token_is_shown_this_once(cast: Cast, visit: As) -> None:
    browser = just_shown(cast.alice)
    response = browser.post(CREATE, {"name": "laptop", "days": "30", "scope": "api"})
    found = re.search(r'<code id="new-token">(arena_[\w-]+)</code>', response.content.decode())
    assert found is not None
    assert "no-store" in response["Cache-Control"]
    page = browser.get(CREATE).content.decode()
    assert found[1] not in page
    assert "not used yet" in page
    row = token_find(found[1], now=timezone.now())
    assert row is not None
    assert (row.owner, row.name) == (cast.alice, "laptop")
    assert f"<strong>laptop</strong> <code>{row.hint}…</code>" in page


def test_a_token_is_chosen_for_thirty_days_and_for_a_year_at_most(cast: Cast, visit: As) -> None:
    browser = just_shown(cast.alice)
    page = browser.get(CREATE).content.decode()
    assert "(optional)" not in page
    assert re.findall(r'<option value="(\d+)"( selected)?', page) == [("30", " selected"), ("90", ""), ("365", "")]
    assert browser.post(CREATE, {"name": "server", "days": "0", "scope": "api"}).status_code == 422
    assert not ApiToken.objects.exists()
    browser.post(CREATE, {"name": "server", "days": "365", "scope": "api"})
    row = ApiToken.objects.get()
    response = browser.post(f"/profile/tokens/{row.pk}/revoke/", follow=True)
    assert "The token is revoked." in response.content.decode()
    assert not ApiToken.objects.exists()


def test_a_session_that_logged_in_long_ago_shows_first_whose_it_is(cast: Cast, visit: As) -> None:
    old = visit(cast.alice)
    page = old.get(CREATE).content.decode()
    (again,) = re.findall(r'<a class="button" href="([^"]+)">Go on', page)
    assert "Create a token" not in page
    assert old.post(CREATE, {"name": "thief", "days": "30", "scope": "api"})["Location"].startswith("/profile/again/")
    assert not ApiToken.objects.exists()
    assert old.post(again, {"password": PASSWORD})["Location"] == CREATE
    assert old.post(CREATE, {"name": "mine", "days": "30", "scope": "api"}).status_code == 200
    assert ApiToken.objects.get().name == "mine"


def test_the_last_use_is_shown_with_its_place(cast: Cast, visit: As) -> None:
    _, token = token_create(owner=cast.alice, name="laptop", now=timezone.now())
    token_find(token, now=timezone.now(), address="192.0.2.77")
    assert "192.0.2.77" in visit(cast.alice).get(CREATE).content.decode()


def test_an_expired_token_says_so(cast: Cast, visit: As) -> None:
    token_create(owner=cast.alice, name="old", now=timezone.now() - timedelta(days=9), days=7)
    assert "Expired on" in visit(cast.alice).get(CREATE).content.decode()


def test_who_comes_from_the_login_finds_the_tokens(cast: Cast, visit: As) -> None:
    row, _ = token_create(owner=cast.alice, name="mine", now=timezone.now(), days=365)
    for address in (CREATE, f"{CREATE}{row.pk}/revoke/"):
        assert visit(None).post(address)["Location"] == f"/login/?next={address}"
    assert visit(cast.alice).get(f"{CREATE}{row.pk}/revoke/")["Location"] == CREATE
    assert ApiToken.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize(
    "fields", [{"name": "", "days": "30"}, {"name": "x" * 51, "days": "30"}, {"name": "x", "days": "8"}]
)
def test_what_is_wrong_comes_back_with_the_form(cast: Cast, visit: As, fields: dict[str, str]) -> None:
    response = just_shown(cast.alice).post(CREATE, fields)
    assert response.status_code == 422
    assert response.context["form"].errors
    assert not ApiToken.objects.exists()


def test_there_is_an_end_to_how_many(cast: Cast, visit: As) -> None:
    for number in range(MAX_TOKENS):
        token_create(owner=cast.alice, name=str(number), now=timezone.now(), days=365)
    response = just_shown(cast.alice).post(CREATE, {"name": "more", "days": "30", "scope": "api"})
    assert response.status_code == 422
    assert "Revoke one first." in response.content.decode()


def test_tokens_are_one_s_own(cast: Cast, visit: As) -> None:
    row, _ = token_create(owner=cast.alice, name="mine", now=timezone.now(), days=365)
    assert "mine" not in visit(cast.bob).get(CREATE).content.decode()
    assert visit(cast.bob).post(f"/profile/tokens/{row.pk}/revoke/").status_code == 404
    assert visit(None).post(CREATE, {"name": "x", "days": "30", "scope": "api"})["Location"] == f"/login/?next={CREATE}"
    assert ApiToken.objects.filter(pk=row.pk).exists()


def test_a_form_from_another_site_makes_no_token(cast: Cast) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(cast.alice)
    assert browser.post(CREATE, {"name": "x", "days": "30", "scope": "api"}).status_code == 403
    assert not ApiToken.objects.exists()


def test_an_organiser_can_take_a_token_away(cast: Cast, visit: As) -> None:
    row, token = token_create(owner=cast.alice, name="lost", now=timezone.now(), days=365)
    admin = visit(cast.olga)
    page = admin.get("/organise/tokens/").content.decode()
    assert "lost" in page
    assert row.digest not in page
    assert admin.get("/admin/core/apitoken/add/").status_code == 403
    admin.post(f"/organise/do/apitoken/{row.pk}/revoke/")
    assert token_find(token, now=timezone.now()) is None
