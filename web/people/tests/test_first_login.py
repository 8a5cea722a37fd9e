"""People without an e-mail: accounts from a class list, a code on paper, a password, and a login by user name."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from core.errors import Refused
from core.models import Course, Letter, Member, Role, SeenBy, User
from core.people.codes import LIFE_WEEKS, code_of, code_renew, code_user
from core.people.services import user_create, user_invite
from core.tests.factories import Cast
from core.tournaments.class_lists import class_create, class_read
from web.conftest import As

pytestmark = pytest.mark.django_db
CLASS, FIRST, PASSWORD = "/organise/people/class/", "/login/first/", "a good pass phrase"
LIST = "name;user name;team\nAnn Müller;;Blue\nBéa Weiß;bea;Blue\n"


@pytest.fixture
def ann(db: None) -> User:
    """An account without an e-mail."""
    return user_invite(email="", username="ann", name="Ann Müller")


def choose(client: Client, username: str, code: str) -> None:
    """Choose a password by a code."""
    answer = client.post(FIRST, {"username": username, "code": code}, follow=True)
    address = answer.redirect_chain[-1][0]
    assert client.post(address, {"new_password1": PASSWORD, "new_password2": PASSWORD})["Location"] == "/"
    # They are logged in, and no address of the arena's own making is theirs.
    me = client.get("/api/v1/me/").json()
    assert (me["username"], me["email"]) == (username.lower(), "")


def test_a_class_without_e_mails_gets_codes_and_logs_in_by_user_name(cast: Cast, visit: As, client: Client) -> None:
    olga = visit(cast.olga)
    assert "You get 2 codes to print" in " ".join(olga.post(CLASS, {"text": LIST}).content.decode().split())
    sheet = olga.post(CLASS, {"text": LIST, "create": "1"}).content.decode()
    assert "it is shown once" in sheet
    assert "data-print" in sheet
    codes = dict(re.findall(r"<dd>([\w.]+)</dd></div>\s+<div><dt>Code</dt><dd><code>([A-Z2-7-]{14})</code>", sheet))
    assert codes.keys() == {"ann.muller", "bea"}
    assert not Letter.objects.exists()

    # In small letters, without the lines.
    choose(client, "Ann.Muller", codes["ann.muller"].lower().replace("-", " "))
    user = User.objects.get(username="ann.muller")
    assert (user.name, user.team, user.has_mailbox, user.must_confirm_email) == ("Ann Müller", "Blue", False, False)
    assert user.check_password(PASSWORD)
    client.post("/logout/")
    assert client.post("/login/", {"username": "ann.MULLER", "password": PASSWORD})["Location"] == "/"
    assert client.get("/profile/").status_code == 200
    # It works once.
    assert (
        "do not match" in Client().post(FIRST, {"username": "ann.muller", "code": codes["ann.muller"]}).content.decode()
    )


def test_the_list_again_knows_them(cast: Cast) -> None:
    class_create(rows=class_read(LIST))
    rows = class_read(LIST.replace("Blue", "Red"))
    assert [(row.is_new, row.problem, row.account and row.account.username) for row in rows] == [
        (False, "", "ann.muller"), (False, "", "bea"),
    ]  # fmt: skip
    # The user name of an account with an e-mail is taken.
    (row,) = class_read(f"user name\n{cast.alice.username}")
    assert "is taken" in row.problem
    first, second = class_read("name\nAnn Li\nAnn Li")
    assert (first.problem, second.problem.partition(".")[0]) == ("", "This person stands in the list twice")
    (row,) = class_read("user name\na@b")
    assert "may have no @" in row.problem


def test_a_code_ends(ann: User) -> None:
    now = timezone.now()
    code = code_of(ann, now)
    assert code_user("ANN", f" {code} ", now) == ann
    assert code_user("ann", code, now + timedelta(weeks=LIFE_WEEKS - 1)) == ann
    assert code_user("ann", code, now + timedelta(weeks=LIFE_WEEKS)) is None
    assert code_user("ann", code[:-1], now) is None
    assert code_user("ann", "", now) is None
    newer = code_renew(user=ann, now=now)
    assert code_user("ann", code, now) is None
    assert code_user("ann", newer, now) == ann
    User.objects.filter(pk=ann.pk).update(is_active=False)
    assert code_user("ann", newer, now) is None


def test_an_account_with_an_e_mail_has_no_code(cast: Cast) -> None:
    cast.alice.set_unusable_password()
    cast.alice.save()
    assert code_user(cast.alice.username, code_of(cast.alice, timezone.now()), timezone.now()) is None


def test_a_new_code_of_the_organisers_ends_the_password(ann: User, cast: Cast, visit: As, client: Client) -> None:
    choose(client, "ann", code_of(ann, timezone.now()))
    assert client.post("/login/", {"username": "ann", "password": PASSWORD}).status_code == 302
    olga = visit(cast.olga)
    assert "New code in place of the password" in olga.get(f"/organise/people/{ann.pk}/").content.decode()
    sheet = olga.post(f"/organise/people/{ann.pk}/code/").content.decode()
    # The session has ended, too.
    assert client.get("/profile/")["Location"].startswith("/login/")
    assert "do not match" in client.post("/login/", {"username": "ann", "password": PASSWORD}).content.decode()
    choose(client, "ann", re.findall(r"<code>([A-Z2-7-]{14})</code>", sheet)[0])


def test_people_cannot_take_an_address_without_a_mailbox(ann: User, cast: Cast, visit: As) -> None:
    for email in (ann.email, "me@arena.invalid", "ME@X.INVALID"):
        with pytest.raises(Refused, match="No mail reaches"):
            user_create(email=email, username="me", password=PASSWORD)
    with pytest.raises(Refused, match="may have no @"):
        user_invite(email="", username="me@x.org")


def test_a_reset_by_mail_writes_them_no_letter(ann: User, client: Client) -> None:
    client.post("/password-reset/", {"email": ann.email})
    assert not Letter.objects.exists()


def test_a_teacher_makes_codes_for_students_of_no_other_course(
    ann: User, cast: Cast, visit: As, client: Client
) -> None:
    course, other = (Course.objects.create(slug=slug, name=slug, seen_by=SeenBy.MEMBERS) for slug in ("one", "two"))
    Member.objects.create(course=course, user=cast.bob, role=Role.TEACHER)
    student, alice = (Member.objects.create(course=course, user=user, role=Role.STUDENT) for user in (ann, cast.alice))
    bob, address = visit(cast.bob), f"/courses/one/people/{student.pk}/code/"
    page = bob.get("/courses/one/people/").content.decode()
    assert page.count("New code in place of the password") == 1
    sheet = bob.post(address).content.decode()
    choose(client, "ann", re.findall(r"<code>([A-Z2-7-]{14})</code>", sheet)[0])
    assert bob.post(f"/courses/one/people/{alice.pk}/code/").status_code == 403
    assert visit(cast.charlie).post(address).status_code == 404
    assert visit(cast.alice).post(address).status_code == 403

    Member.objects.create(course=other, user=ann, role=Role.STUDENT)
    assert bob.post(address).status_code == 403
    assert User.objects.get(pk=ann.pk).check_password(PASSWORD)
