"""What browsers and proxies may keep: nothing that a person or a program with a token is shown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client
from django.utils import timezone

from core.people.tokens import token_create
from core.tests.factories import PASSWORD, Cast
from web.conftest import As
from web.kit.views import FOR_A_WHILE
from web.tests.house import reset_link

pytestmark = pytest.mark.django_db
PERSONAL = ("/profile/", "/inbox/", "/profile/email/", "/profile/logins/", "/profile/sessions/", "/profile/tokens/",
            "/organise/", "/organise/audit/", "/organise/people/", "/organise/people/links/", "/operations/",
            "/api/v1/me/", "/api/v1/tokens/", "/api/v1/me/inbox/", "/")  # fmt: skip


def test_no_page_of_a_person_is_kept(cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    kept = {address: olga.get(address).get("Cache-Control") for address in PERSONAL}
    assert kept == dict.fromkeys(PERSONAL, "private, no-store")


def test_no_answer_to_a_token_is_kept_and_those_to_strangers_are_as_before(cast: Cast) -> None:
    _, token = token_create(owner=cast.alice, name="laptop", now=timezone.now())
    headers = {"Authorization": f"Bearer {token}"}
    for address in ("/api/v1/me/", "/api/v1/environments/"):
        assert Client().get(address, headers=headers)["Cache-Control"] == "private, no-store"
    stranger = Client()
    for address in ("/", "/api/v1/environments/", "/login/"):
        assert stranger.get(address).get("Cache-Control") != "private, no-store"


def test_what_sets_its_own_rule_keeps_it(cast: Cast, visit: As) -> None:
    assert visit(cast.alice).get("/kit/simple/arena-kit/")["Cache-Control"] == FOR_A_WHILE


def test_logging_out_clears_what_the_browser_has_kept(cast: Cast, visit: As) -> None:
    assert visit(cast.alice).post("/logout/")["Clear-Site-Data"] == '"cache", "storage"'
    assert visit(cast.olga).post("/admin/logout/")["Clear-Site-Data"] == '"cache", "storage"'
    assert "Clear-Site-Data" not in visit(cast.alice).get("/profile/")


def test_ending_ones_own_session_and_account_clears_the_same(cast: Cast) -> None:
    client = Client()
    client.post("/login/", {"username": cast.alice.email, "password": PASSWORD})
    own, other = UserSession.objects.get(user=cast.alice), Client()
    other.post("/login/", {"username": cast.alice.email, "password": PASSWORD})
    second = UserSession.objects.exclude(pk=own.pk).get(user=cast.alice)
    assert "Clear-Site-Data" not in client.post(f"/profile/sessions/{second.pk}/end/")
    assert client.post(f"/profile/sessions/{own.pk}/end/")["Clear-Site-Data"] == '"cache", "storage"'
    client.post("/login/", {"username": cast.alice.email, "password": PASSWORD})
    form = {"username": "alice"}
    assert client.post("/profile/delete/", form)["Clear-Site-Data"] == '"cache", "storage"'


def test_the_page_behind_a_link_for_a_password_is_kept_by_no_cache(cast: Cast) -> None:
    answer = Client().get(reset_link(cast.alice), follow=True)
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize(("site", "prefix"), [("https://arena.example", "__Host-"), ("", "")])
def test_cookies_belong_to_the_host_where_there_is_https(site: str, prefix: str) -> None:
    program = (
        "from django.conf import settings as s;"
        "print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE,"
        "s.SESSION_COOKIE_DOMAIN, s.SESSION_COOKIE_PATH, s.MESSAGE_STORAGE.rpartition('.')[2])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True,
        env={"DJANGO_SETTINGS_MODULE": "core.settings", "SITE_URL": site, "DEBUG": "true", "PATH": "/usr/bin"},
    ).stdout.split()  # fmt: skip
    is_safe = str(bool(site))
    assert found == [f"{prefix}sessionid", f"{prefix}csrftoken", is_safe, is_safe, "None", "/", "SessionStorage"]
