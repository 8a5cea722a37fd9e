"""Organisers find people, set quotas, and let people in by links and by lists; nothing happens before it is shown."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.errors import Refused
from core.links import tournament_address
from core.models import AuditEntry, Environment, InviteLink, Letter, LetterKind, Notice, NoticeKind, Tournament, User
from core.notices.mails import mails_send_due
from core.tests import factories
from core.tests.factories import PASSWORD, Cast
from core.tournaments.class_lists import MOST_ROWS, class_create, class_read
from core.tournaments.invite_links import link_address, link_find
from web.conftest import As
from web.organise.tournament_forms import TournamentForm

pytestmark = pytest.mark.django_db
CLASS, LINKS = "/organise/people/class/", "/organise/people/links/"
LIST = "E-Mail;User name;Team\nann@school.example;ann;Blue\nbea@school.example;;\n"


def new_link(**fields: object) -> InviteLink:
    given: dict[str, object] = {"name": "Class 9b", "expires_at": timezone.now() + timedelta(days=1)}
    return InviteLink.objects.create(**(given | fields))


def by_invitation(environment: Environment) -> Tournament:
    row = factories.planned(environment)
    Tournament.objects.filter(pk=row.pk).update(eligibility="INVITED")
    return row


def sign_up(client: Client, link: InviteLink, name: str) -> int:
    token = link_address(link).partition("invite=")[2]
    given = {"invite": token, "email": f"{name}@school.example", "username": name, "password1": PASSWORD,
             "password2": PASSWORD}  # fmt: skip
    return client.post(reverse("account_signup"), given).status_code


def test_people_are_found_by_words_and_state(cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    User.objects.filter(pk=cast.bob.pk).update(is_active=False)

    def names(query: str) -> list[str]:
        return [user.username for user in olga.get(f"/organise/people/?{query}").context["page"]]

    assert names("q=ali") == ["alice"]
    assert names("show=banned") == ["bob"]
    assert names("show=organisers") == ["olga"]
    assert len(names("")) == 4


def test_quotas_are_set_and_recorded(cast: Cast, visit: As) -> None:
    address = reverse("web:organise_person", args=[cast.alice.pk])
    olga = visit(cast.olga)
    assert olga.post(address, {"quota_active_agents": "-1"}).status_code == 422
    olga.post(address, {"quota_active_agents": "7", "is_quota_exempt": "on"})
    cast.alice.refresh_from_db()
    assert (cast.alice.quota_active_agents, cast.alice.quota_uploads_per_day) == (7, None)
    assert cast.alice.is_quota_exempt
    entry = AuditEntry.objects.filter(object_id=str(cast.alice.pk), action="change").latest("pk")
    assert entry.changes["quota_active_agents"] == [None, 7]


def test_a_link_stands_in_for_the_invitation_code(
    environment: Environment, cast: Cast, visit: As, client: Client, settings: Settings
) -> None:
    settings.INVITATION_CODE = "sesame-sesame"
    cup = by_invitation(environment)
    cup.invited.add(cast.bob)
    olga = visit(cast.olga)
    given = {"name": "Class 9b", "most_accounts": "2", "days": "3", "team": "Blue", "tournament": cup.pk}
    page = olga.post(LINKS, given, follow=True).content.decode()
    link = InviteLink.objects.get()
    assert link_address(link) in page
    assert link.created_by == cast.olga

    token = link_address(link).partition("invite=")[2]
    form = client.get(reverse("account_signup"), {"invite": token}).content.decode()
    assert "You are invited: Class 9b" in form
    assert "invitation_code" not in form
    assert sign_up(client, link, "ann") == 302
    ann = User.objects.get(username="ann")
    assert ann.team == "Blue"
    assert set(cup.invited.all()) == {cast.bob, ann}
    assert Notice.objects.filter(user=ann, kind=NoticeKind.TOURNAMENT_INVITED).count() == 1

    assert sign_up(Client(), link, "bea") == 302
    # No account is left in it, so the code is asked for again.
    assert sign_up(Client(), link, "cid") == 200
    assert not User.objects.filter(username="cid").exists()


def test_a_name_that_is_taken_uses_up_no_place(cast: Cast, client: Client) -> None:
    link = new_link(most_accounts=1)
    assert sign_up(client, link, "alice") == 200
    link.refresh_from_db()
    assert link.account_count == 0


def test_a_person_with_an_account_takes_an_invitation(environment: Environment, cast: Cast, visit: As) -> None:
    cup = by_invitation(environment)
    link = new_link(tournament=cup, most_accounts=2)
    address = f"{reverse('account_signup')}?invite={link_address(link).partition('invite=')[2]}"
    signed_out = Client().get(address).content.decode()
    assert "next=/sign-up/%3Finvite%3D" in signed_out

    alice = visit(cast.alice)
    assert f"You are invited to {cup}" in alice.get(address).content.decode()
    assert not cup.invited.exists()
    for _ in range(2):
        assert alice.post(address)["Location"] == tournament_address(cup)
    assert list(cup.invited.all()) == [cast.alice]
    link.refresh_from_db()
    assert link.account_count == 1

    InviteLink.objects.filter(pk=link.pk).update(account_count=2)
    assert "has expired or is used up" in visit(cast.bob).get(address, follow=True).content.decode()
    assert "You have one already" in alice.get(link_address(new_link()), follow=True).content.decode()


def test_only_links_that_open_something_are_kept_in_the_session(client: Client) -> None:
    page = client.get(reverse("account_signup"), {"invite": "x" * 1000}).content.decode()
    assert "has expired or is used up" in page
    assert not dict(client.session)
    client.post(reverse("account_signup"), {"invite": "x" * 10**6})
    assert not dict(client.session)

    link = new_link()
    client.get(reverse("account_signup"), {"invite": link_address(link).partition("invite=")[2]})
    assert "You are invited: Class 9b" in client.get(reverse("account_signup")).content.decode()
    InviteLink.objects.update(expires_at=timezone.now())
    assert "has expired or is used up" in client.get(reverse("account_signup")).content.decode()
    assert "has expired or is used up" not in client.get(reverse("account_signup")).content.decode()


def test_links_that_ended_or_were_forged_open_nothing(cast: Cast, visit: As) -> None:
    link = new_link()
    token = link_address(link).partition("invite=")[2]
    assert link_find(token, now=timezone.now()) == link
    for forged in ("", "1", f"{link.pk + 1}:{token.partition(':')[2]}", token[:-1]):
        assert link_find(forged, now=timezone.now()) is None
    visit(cast.olga).post(reverse("web:organise_action", args=["invitelink", link.pk, "end"]))
    assert link_find(token, now=timezone.now()) is None


def test_inviting_to_a_tournament_needs_the_right_to_change_it(environment: Environment, cast: Cast, visit: As) -> None:
    cup = by_invitation(environment)
    User.objects.filter(pk=cast.olga.pk).update(is_superuser=False)
    cast.olga.user_permissions.set(Permission.objects.filter(codename="add_user"))
    olga = visit(cast.olga)
    for address in (CLASS, LINKS):
        assert 'name="tournament"' not in olga.get(address).content.decode()
    olga.post(CLASS, {"text": LIST, "tournament": cup.pk, "create": "1"})
    olga.post(LINKS, {"name": "Class 9b", "most_accounts": "2", "days": "3", "tournament": cup.pk})
    assert User.objects.filter(username="ann").exists()
    assert InviteLink.objects.get().tournament is None
    assert not cup.invited.exists()


def test_who_is_called_by_the_address_of_another_is_not_taken_for_that_one(
    environment: Environment, cast: Cast, visit: As
) -> None:
    """User names may have an @."""
    thief = factories.user("ann@school.example")
    User.objects.filter(pk=thief.pk).update(email="thief@school.example")
    (ann,) = class_read("ann@school.example")
    assert ann.is_new
    assert ann.username == "ann"

    cup, plan = by_invitation(environment), {"starts_at": "", "name": "Cup", "format": "round-robin"}
    form = TournamentForm({**plan, "eligibility": "INVITED", "invited": "ann@school.example"}, instance=cup)
    assert "no account with this user name or e-mail" in str(form.errors["invited"])
    # A plan that invites them is saved again as it is.
    cup.invited.set([thief, cast.bob])
    shown = TournamentForm(instance=cup)["invited"].value()
    field = TournamentForm(instance=cup).fields["invited"]
    assert set(field.clean(field.prepare_value(shown))) == {thief, cast.bob}


def test_a_class_is_shown_before_any_account_is_made(environment: Environment, cast: Cast, visit: As) -> None:
    cup = by_invitation(environment)
    olga, text = visit(cast.olga), f"{LIST}{cast.alice.email};;\nnot-an-address;x;\nümlaut@example.org;;\n"
    file = SimpleUploadedFile("class.csv", text.encode("utf-8-sig"))
    shown = olga.post(CLASS, {"file": file, "tournament": cup.pk})
    page = shown.content.decode()
    assert (shown.context["new"], shown.context["there"], shown.context["wrong"]) == (2, 1, 2)
    assert "“not-an-address” is not an e-mail address." in page
    assert "“ümlaut@example.org” has letters before the @ that few mail servers take." in page
    assert not User.objects.filter(email__endswith="@school.example").exists()

    olga.post(CLASS, {"text": shown.context["text"], "tournament": cup.pk, "create": "1"})
    ann, bea = User.objects.filter(email__endswith="@school.example").order_by("username")
    assert (ann.username, ann.team, bea.username) == ("ann", "Blue", "bea")
    assert set(cup.invited.all()) == {ann, bea, cast.alice}
    assert AuditEntry.objects.filter(action="add", object_id=str(ann.pk)).exists()
    assert Letter.objects.filter(kind=LetterKind.INVITATION).count() == 2


def test_invited_people_choose_a_password_by_the_link_in_their_mail(cast: Cast, visit: As, client: Client) -> None:
    visit(cast.olga).post(CLASS, {"text": LIST, "create": "1"})
    mails_send_due(now=timezone.now())
    letter = next(one for one in mail.outbox if one.to == ["ann@school.example"])
    link = next(word for word in str(letter.body).split() if "/password-reset/" in word and word.count("/") > 4)
    answer = client.get(link.partition("/password-reset")[1] + link.partition("/password-reset")[2], follow=True)
    address = answer.redirect_chain[-1][0]
    client.post(address, {"new_password1": PASSWORD, "new_password2": PASSWORD})
    ann = User.objects.get(username="ann")
    assert ann.check_password(PASSWORD)
    assert ann.email_confirmed_at is not None

    # People who have lost the link ask for another one.
    client.post(reverse("account_reset_password"), {"email": "bea@school.example"})
    mail.outbox.clear()
    mails_send_due(now=timezone.now())
    assert [one.to for one in mail.outbox] == [["bea@school.example"]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Choose a file or paste a list."),
        ("Team\nBlue\n", "must be a heading with"),
        ("email\n\n\n", "names no people"),
        ('email\n"ann@x.org', "is not CSV"),
        ("email\n" + "".join(f"a{n}@x.org\n" for n in range(MOST_ROWS + 1)), "at most 500 people"),
    ],
)
def test_what_is_no_list_is_refused(text: str, why: str, cast: Cast, visit: As) -> None:
    answer = visit(cast.olga).post(CLASS, {"text": text, "create": "1"})
    assert answer.status_code == 422
    assert why in answer.content.decode()


@pytest.mark.parametrize(("content", "why"), [(b"PK\x03\x04\xff\xfe", "not text in UTF-8"), (b"a@x.org\0", "not text")])
def test_a_file_that_is_no_text_is_refused(content: bytes, why: str, cast: Cast, visit: As) -> None:
    file = SimpleUploadedFile("class.xlsx", content)
    answer = visit(cast.olga).post(CLASS, {"file": file})
    assert answer.status_code == 422
    assert why in answer.content.decode()


def test_each_line_is_judged_alone(cast: Cast) -> None:
    rows = class_read(
        "ann@x.org,alice\nabe@x.org\nbob@x.org\n_dot@x.org\neve@x.org,-eve\nfay@x.org,a b\ngil@x.org,gil,"
        + "t" * 101
        + "\nanonymous@arena.invalid\n@x.org\n"
    )
    first_words = [row.problem.partition(" ")[0] for row in rows]
    assert first_words == ["The", "", "", "", "The", "Enter", "The", "No", "“@x.org”"]
    # A name that is taken is refused where the list asks for it, and else gets a number.
    assert rows[2].username == "bob2"
    assert rows[3].username == "dot"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ann@x.org,ann,,Ann Müller", "Ann Müller"),
        ("Name;E-mail\nAnn Müller;ann@x.org", "Ann Müller"),
        ("email,first name,surname\nann@x.org, Ann , Müller", "Ann Müller"),
        ("email,last name\nann@x.org,Müller", "Müller"),
        ("email,user name\nann@x.org,ann", ""),
    ],
)
def test_a_list_has_the_names_of_people_beside_their_user_names(cast: Cast, text: str, name: str) -> None:
    (row,) = class_read(text)
    assert (row.problem, row.username, row.name) == ("", "ann", name)
    class_create(rows=[row])
    assert User.objects.get(username="ann").name == name


def test_a_name_that_cannot_be_shown_is_refused(cast: Cast) -> None:
    rows = class_read("ann@x.org,,,Ann\u202eM\nbea@x.org,,," + "B" * 151)
    problems = ["The name has characters that cannot be shown.", "The name has more than 150 characters."]
    assert [row.problem for row in rows] == problems


@pytest.mark.parametrize("name", ["Weiß", "Élodie", "ÉLODIE"])
def test_names_that_databases_spell_otherwise_are_seen_to_be_taken(name: str, cast: Cast) -> None:
    factories.user(name)
    (row,) = class_read(f"new@school.example,{name}")
    assert "is taken" in row.problem


def test_what_is_taken_while_the_accounts_are_made_is_said(
    cast: Cast, visit: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    olga = visit(cast.olga)
    # Another person signs up between the reading of the list and the first account.
    monkeypatch.setattr("core.tournaments.class_lists.people_named", lambda _: {})
    answer = olga.post(CLASS, {"text": f"ann@school.example\n{cast.bob.email},bobby", "create": "1"})
    assert answer.status_code == 422
    assert "There is already an account with this e-mail" in answer.content.decode()
    assert not User.objects.filter(username="ann").exists()


def test_a_list_without_people_raises(cast: Cast) -> None:
    with pytest.raises(Refused):
        class_read("\n")
