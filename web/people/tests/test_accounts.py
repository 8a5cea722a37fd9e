from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from core.models import Environment, Letter, User
from core.notices.mails import mails_send
from core.tests import factories
from core.tests.factories import PASSWORD, Cast
from web.conftest import As

pytestmark = pytest.mark.django_db

NEW = {
    "email": "dora@arena.example",
    "username": "dora",
    "password1": "a-long-passphrase",
    "password2": "a-long-passphrase",
}


@pytest.fixture
def cast(db: None) -> Cast:
    """Of one test alone: most are about the only account that there is."""
    return factories.cast()


def errors(response: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = response.context["form"].errors
    return found


def test_a_new_user_is_logged_in_and_sent_home(client: Client) -> None:
    response = client.post("/sign-up/", NEW | {"github": "dora-rl"}, follow=True)
    assert response.redirect_chain == [("/", 302)]
    user = User.objects.get(email="dora@arena.example")
    assert (user.username, user.team, user.github, user.is_staff) == ("dora", "", "dora-rl", False)
    assert response.context["user"] == user


def test_who_signs_up_to_upload_comes_back_to_the_environment(client: Client, environment: Environment) -> None:
    page = "/environments/tic-tac-toe/write/"
    assert f'href="/sign-up/?next={page}"' in client.get(page).content.decode()
    assert f'href="/sign-up/?next={page}"' in client.get("/login/", {"next": page}).content.decode()
    assert f'name="next" value="{page}"' in client.get("/sign-up/", {"next": page}).content.decode()
    response = client.post("/sign-up/", NEW | {"next": page})
    assert (response.status_code, response["Location"]) == (302, page)


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_signing_up_never_leads_to_another_site(client: Client, elsewhere: str) -> None:
    assert "evil" not in client.get("/sign-up/", {"next": elsewhere}).content.decode()
    assert client.post("/sign-up/", NEW | {"next": elsewhere})["Location"] == "/"


def test_logged_in_users_are_sent_home_from_sign_up_and_login(cast: Cast, visit: As) -> None:
    for address in ("/sign-up/", "/login/"):
        response = visit(cast.alice).get(address)
        assert (response.status_code, response["Location"]) == (302, "/")


def test_without_a_code_or_teams_the_form_asks_for_neither(client: Client) -> None:
    fields = client.get("/sign-up/").context["form"].fields
    assert list(fields) == ["email", "username", "github", "password1", "password2"]


@pytest.mark.parametrize("code", ["", "open", "SESAME", "sesame "])
def test_a_wrong_invitation_code_is_refused(client: Client, settings: Settings, code: str) -> None:
    settings.INVITATION_CODE = "sesame-sesame"
    response = client.post("/sign-up/", NEW | {"invitation_code": code})
    assert errors(response)["invitation_code"] == (
        ["This invitation code is not valid."] if code else ["This field is required."]
    )
    assert not User.objects.exists()


def test_the_right_invitation_code_and_a_listed_team_are_taken(client: Client, settings: Settings) -> None:
    settings.INVITATION_CODE, settings.TEAMS = "sesame-é", ["Blue", "Red"]
    client.post("/sign-up/", NEW | {"invitation_code": "sesame-é", "team": "Red"})
    assert User.objects.get().team == "Red"


def test_an_unlisted_team_is_refused(client: Client, settings: Settings) -> None:
    settings.TEAMS = ["Blue", "Red"]
    response = client.post("/sign-up/", NEW | {"team": "Green"})
    assert list(errors(response)) == ["team"]


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"email": "ALICE@arena.example"}, "email"),
        ({"username": "Alice"}, "username"),
        ({"username": "../admin"}, "username"),
        ({"username": ".."}, "username"),
        ({"username": "dora\u202e"}, "username"),
        ({"username": "<b>dora</b>"}, "username"),
        ({"github": "not/a/name"}, "github"),
        ({"password2": "another-passphrase"}, "password2"),
        ({"password1": "12345678", "password2": "12345678"}, "password1"),
    ],
)
def test_what_cannot_be_taken_is_refused_at_its_field(
    client: Client, cast: Cast, changed: dict[str, str], field: str
) -> None:
    response = client.post("/sign-up/", NEW | changed)
    assert response.status_code == 200
    assert list(errors(response)) == [field]
    assert User.objects.count() == 4


@pytest.mark.parametrize("email", ['"\x0bX:b"@x.com', '"\x7fb"@x.com', "dora@x\ufeff.com"])
def test_an_email_of_which_no_header_can_be_made_is_refused(client: Client, cast: Cast, email: str) -> None:
    said = "An e-mail address may contain only visible characters."
    assert errors(client.post("/sign-up/", NEW | {"email": email})) == {"email": [said]}
    assert not User.objects.filter(username="dora").exists()
    # Organisers change it by a form of the model.
    cast.alice.email = email
    with pytest.raises(ValidationError, match=said):
        cast.alice.full_clean()
    cast.alice.full_clean(exclude=["email"])


def test_a_refusal_is_tied_to_its_field_for_those_who_cannot_see_it(client: Client) -> None:
    page = client.post("/sign-up/", NEW | {"username": ".."}).content.decode()
    field = re.search(r'<input[^>]*name="username"[^>]*>', page)
    assert field is not None
    assert 'aria-invalid="true"' in field[0]
    for described_by in re.findall(r'aria-describedby="([^"]+)"', field[0])[0].split():
        assert f'id="{described_by}"' in page


def test_the_sign_up_form_sent_twice_makes_one_account(client: Client) -> None:
    client.post("/sign-up/", NEW)
    second = Client().post("/sign-up/", NEW)
    assert set(errors(second)) == {"username"}
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    "wrong", [{"invitation_code": "guess"}, {"password2": "another"}, {"username": ".."}, {"team": "Green"}]
)
def test_that_an_email_is_taken_is_not_said_to_who_could_not_sign_up_anyway(
    client: Client, cast: Cast, settings: Settings, wrong: dict[str, str]
) -> None:
    settings.INVITATION_CODE, settings.TEAMS = "sesame-sesame", ["Blue"]
    form = NEW | {"invitation_code": "sesame-sesame", "team": "Blue"} | wrong
    known, unknown = (errors(client.post("/sign-up/", form | {"email": to})) for to in (cast.alice.email, "x@y.dev"))
    assert known == unknown
    assert set(known) == set(wrong)


def test_login_is_by_email_in_any_case_and_keeps_where_one_was_going(client: Client, cast: Cast) -> None:
    response = client.post("/login/?next=/profile/", {"username": "Alice@Arena.example", "password": PASSWORD})
    assert (response.status_code, response["Location"]) == (302, "/profile/")


def test_login_does_not_lead_to_another_site(client: Client, cast: Cast) -> None:
    form = {"username": cast.alice.email, "password": PASSWORD, "next": "https://evil.example/"}
    assert client.post("/login/", form)["Location"] == "/"


@pytest.mark.parametrize("wanted", ["/login/", "/login/?next=/login/", "/login/?a=b"])
def test_who_is_logged_in_and_sent_to_the_login_again_goes_home(cast: Cast, visit: As, wanted: str) -> None:
    assert visit(cast.alice).get("/login/", {"next": wanted})["Location"] == "/"
    form = {"username": cast.alice.email, "password": PASSWORD, "next": wanted}
    assert Client().post("/login/", form)["Location"] == "/"


def test_a_wrong_password_is_refused_without_telling_whether_the_account_exists(client: Client, cast: Cast) -> None:
    sentences = [
        errors(client.post("/login/", {"username": email, "password": "wrong"}))["__all__"]
        for email in (cast.alice.email, "nobody@arena.example")
    ]
    assert sentences == [["E-mail and password do not match an account."]] * 2


def test_logging_out_takes_a_post(cast: Cast, visit: As) -> None:
    client = visit(cast.alice)
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/")["Location"] == "/"
    assert client.get("/profile/").status_code == 302


def test_a_forgotten_password_is_replaced_through_the_mail(client: Client, cast: Cast) -> None:
    assert client.post("/password-reset/", {"email": "alice@arena.example"})["Location"] == "/password-reset/sent/"
    assert mail.outbox == []
    mails_send()
    link = re.search(r"https?://[^/\s]+(/password-reset/\S+)", str(mail.outbox[0].body))
    assert link is not None
    form = client.get(link[1], follow=True)
    address = form.redirect_chain[-1][0]
    new = {"new_password1": "quite-another-one", "new_password2": "quite-another-one"}
    assert client.post(address, new)["Location"] == "/password-reset/complete/"
    assert client.get("/password-reset/complete/").status_code == 200
    cast.alice.refresh_from_db()
    assert cast.alice.check_password("quite-another-one")
    used = Client().get(link[1], follow=True)
    assert "already been used" in used.content.decode()


def test_asking_for_an_unknown_email_sends_nothing_and_says_the_same(client: Client) -> None:
    assert client.post("/password-reset/", {"email": "nobody@arena.example"})["Location"] == "/password-reset/sent/"
    assert "If an account has this e-mail address" in client.get("/password-reset/sent/").content.decode()
    mails_send()
    assert mail.outbox == []
    assert not Letter.objects.exists()


def test_asking_for_a_new_password_does_the_same_work_with_and_without_an_account(client: Client, cast: Cast) -> None:
    client.get("/password-reset/")
    asked = []
    for email in (cast.alice.email, "nobody@arena.example"):
        with CaptureQueriesContext(connection) as queries:
            client.post("/password-reset/", {"email": email})
        asked.append([query["sql"].split(" ")[0] for query in queries])
    assert asked[0] == asked[1]


def test_the_profile_changes_team_and_github_name(cast: Cast, visit: As, settings: Settings) -> None:
    settings.TEAMS = ["Blue", "Red"]
    client = visit(cast.alice)
    assert client.post("/profile/", {"team": "Red", "github": "alice-rl"})["Location"] == "/profile/"
    cast.alice.refresh_from_db()
    assert (cast.alice.team, cast.alice.github) == ("Red", "alice-rl")
    assert "Your profile is saved." in client.get("/profile/").content.decode()


def test_a_name_is_seen_by_its_owner_and_organisers_alone(cast: Cast, visit: As) -> None:
    alice = visit(cast.alice)
    assert alice.post("/profile/", {"first_name": "Alice Müller", "github": ""}).status_code == 302
    assert 'value="Alice Müller"' in alice.get("/profile/").content.decode()
    assert "Alice Müller" in visit(cast.olga).get(f"/organise/people/{cast.alice.pk}/").content.decode()
    assert cast.alice.username in visit(cast.olga).get("/organise/people/?q=müller").content.decode()
    assert "Alice Müller" not in visit(cast.bob).get(f"/users/{cast.alice.username}/").content.decode()
    refused = alice.post("/profile/", {"first_name": "Alice\u202e", "github": ""})
    assert "only visible characters" in refused.content.decode()


def test_the_profile_leaves_the_team_alone_where_there_are_no_teams(cast: Cast, visit: As) -> None:
    visit(cast.alice).post("/profile/", {"team": "Red", "github": ""})
    cast.alice.refresh_from_db()
    assert cast.alice.team == "Blue"


def test_the_profile_is_for_those_logged_in(client: Client) -> None:
    assert client.get("/profile/")["Location"] == "/login/?next=/profile/"


def test_a_changed_password_keeps_its_owner_logged_in(cast: Cast, visit: As) -> None:
    client = visit(cast.alice)
    form = {"old_password": PASSWORD, "new_password1": "quite-another-one", "new_password2": "quite-another-one"}
    response = client.post("/profile/password/", form, follow=True)
    assert "Your new password is set." in response.content.decode()
    assert response.context["user"] == cast.alice
