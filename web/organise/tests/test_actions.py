"""Buttons where the thing is: each action asks, is done once, is in the audit log, and is for organisers alone."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from core.models import (
    Alarm,
    AuditEntry,
    Build,
    Environment,
    HostState,
    Letter,
    Tournament,
    TournamentState,
    User,
    WorkerHost,
)
from core.notices.alarms import alarm_raise
from core.tests import factories
from core.tests.factories import NOON, Cast
from web.conftest import As
from web.organise.actions.registry import KINDS
from web.tests.arena import Stage

pytestmark = pytest.mark.django_db


def act(kind: str, row: object, name: str) -> str:
    return reverse("web:organise_action", args=[kind, getattr(row, "pk", row), name])


def last() -> AuditEntry:
    found = AuditEntry.objects.first()
    assert found is not None
    return found


def test_a_duel_is_void_by_two_clicks_on_its_page(stage: Stage, cast: Cast, visit: As) -> None:
    page, link = reverse("web:duel", args=[stage.duel.pk]), act("duel", stage.duel, "void")
    assert link not in visit(cast.alice).get(page).content.decode()
    olga = visit(cast.olga)
    assert f"{link}?next={page}" in olga.get(page).content.decode()

    question = olga.get(link, {"next": page}).content.decode()
    assert "Reason, shown on the duel" in question
    assert olga.post(link, {"next": page}).status_code == 422
    answer = olga.post(link, {"next": page, "reason": "Wrong seats."}, follow=True)

    stage.duel.refresh_from_db()
    assert stage.duel.is_void
    assert answer.redirect_chain == [(page, 302)]
    assert "is void." in answer.content.decode()
    assert link not in answer.content.decode()
    entry = last()
    assert (entry.action, entry.channel, entry.operator, entry.object_id) == (
        "void",
        "SITE",
        "olga",
        str(stage.duel.pk),
    )
    assert entry.note == "is void. Reason: Wrong seats."


def test_a_refusal_is_shown_and_recorded_and_changes_nothing(stage: Stage, cast: Cast, visit: As) -> None:
    answer = visit(cast.olga).post(act("duel", stage.duel, "run_again"), follow=True).content.decode()
    assert "nothing was done. It is not void" in answer
    assert "nothing was done" in last().note


def test_a_tournament_is_begun_and_called_off_on_its_page(environment: Environment, cast: Cast, visit: As) -> None:
    row = factories.planned(environment)
    page, olga = reverse("web:edition", args=[environment.slug, row.edition]), visit(cast.olga)
    assert act("tournament", row, "begin_now") in olga.get(page).content.decode()
    assert reverse("web:organise_replan", args=[row.pk]) in olga.get(page).content.decode()
    assert "organise" not in visit(cast.bob).get(page).content.decode()

    begun = olga.post(act("tournament", row, "begin_now"), {"next": page}, follow=True).content.decode()
    assert "nothing was done" in begun  # there are no participants
    olga.post(act("tournament", row, "call_off"), {"reason": "Exams."})
    row.refresh_from_db()
    assert (row.state, row.cancel_reason) == (TournamentState.CANCELLED, "Exams.")


def test_results_are_released(stage: Stage, cast: Cast, visit: As) -> None:
    Tournament.objects.filter(pk=stage.tournament.pk).update(results="HIDDEN", state="FINISHED", ended_at=NOON)
    visit(cast.olga).post(act("tournament", stage.tournament, "release"))
    stage.tournament.refresh_from_db()
    assert stage.tournament.results == "PUBLIC"


def test_people_are_banned_and_let_back_in(cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    olga.post(act("user", cast.bob, "ban"), {"reason": "Spam."})
    cast.bob.refresh_from_db()
    assert (cast.bob.is_active, cast.bob.ban_reason) == (False, "Spam.")
    olga.post(act("user", cast.bob, "unban"))
    cast.bob.refresh_from_db()
    assert cast.bob.is_active
    assert (
        "You cannot ban yourself"
        in olga.post(act("user", cast.olga, "ban"), {"reason": "x"}, follow=True).content.decode()
    )


def test_an_agent_is_disabled_with_a_reason_that_its_owner_reads(stage: Stage, cast: Cast, visit: As) -> None:
    agent = stage.anna.agent
    page, olga = reverse("web:agent", args=[agent.environment.slug, agent.name]), visit(cast.olga)
    assert act("agent", agent, "disable") in olga.get(page).content.decode()
    olga.post(act("agent", agent, "disable"), {"reason": "It copies berta."})
    assert "It copies berta." in visit(cast.alice).get(page).content.decode()
    olga.post(act("agent", agent, "enable"))
    agent.refresh_from_db()
    assert not agent.is_disabled
    olga.post(act("agent", agent, "build_again"))
    assert stage.anna.builds.count() == 2
    for name, rests in (("let_rest", True), ("let_play", False)):
        olga.post(act("agent", agent, name))
        agent.refresh_from_db()
        assert agent.is_resting is rests
        again = olga.post(act("agent", agent, name), follow=True).content.decode()
        assert ("The agent is hidden already." if rests else "The agent is not hidden.") in again
        agent.refresh_from_db()
        assert agent.is_resting is rests


def test_what_was_done_to_an_agent_is_one_plain_sentence(stage: Stage, cast: Cast, visit: As) -> None:
    agent, olga = stage.anna.agent, visit(cast.olga)
    for name, said in (("let_rest", "is hidden and takes part in nothing new."), ("let_play", "is playing again.")):
        assert f"{agent} {said}" in olga.post(act("agent", agent, name), follow=True).content.decode()


def test_an_environment_is_closed_and_opened_again(environment: Environment, cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    olga.post(act("environment", environment, "close"))
    environment.refresh_from_db()
    assert not environment.is_active
    olga.post(act("environment", environment, "open"))
    environment.refresh_from_db()
    assert environment.is_active


def test_an_alarm_is_settled_and_a_host_is_drained(cast: Cast, visit: As) -> None:
    alarm = alarm_raise(key="k", message="Something is odd.")
    host = WorkerHost.objects.create(name="h", provider="p", state=HostState.READY, created_at=NOON, ready_at=NOON)
    olga = visit(cast.olga)
    olga.post(act("alarm", alarm, "settle"))
    olga.post(act("workerhost", host, "drain"))
    assert not Alarm.objects.filter(settled_at=None).exists()
    host.refresh_from_db()
    assert (host.state, host.reason) == (HostState.DRAINING, "Drained by olga.")


def test_actions_need_the_right_of_their_row(stage: Stage, cast: Cast, visit: As) -> None:
    User.objects.filter(pk=cast.olga.pk).update(is_superuser=False)
    link = act("duel", stage.duel, "void")
    for person in (cast.bob, cast.olga):
        assert visit(person).post(link, {"reason": "x"}).status_code == 403
    assert visit(None).post(link, {"reason": "x"}).headers["Location"].startswith(reverse("account_login"))
    stage.duel.refresh_from_db()
    assert not stage.duel.is_void

    cast.olga.user_permissions.add(Permission.objects.get(codename="change_duel"))
    visit(cast.olga).post(link, {"reason": "x"})
    stage.duel.refresh_from_db()
    assert stage.duel.is_void


def test_an_action_that_does_not_exist_is_not_found(cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    for link in (act("duel", 999, "void"), act("duel", 1, "burn"), act("letter", 1, "void")):
        assert olga.get(link).status_code == 404


def test_no_button_leads_to_another_site(stage: Stage, cast: Cast, visit: As) -> None:
    answer = visit(cast.olga).post(act("duel", stage.duel, "requeue"), {"next": "https://example.com/"})
    assert answer.headers["Location"] == reverse("web:organise")


def test_every_action_has_a_name_of_its_own() -> None:
    for kind in KINDS.values():
        names = [action.name for action in kind.actions]
        assert len(names) == len(set(names))


def test_a_get_changes_nothing(cast: Cast, client: Client) -> None:
    alarm = alarm_raise(key="k", message="Something is odd.")
    client.force_login(cast.olga)
    assert client.get(act("alarm", alarm, "settle")).status_code == 200
    assert Alarm.objects.filter(settled_at=None).exists()


def test_an_address_is_confirmed_by_hand_and_a_link_for_a_new_password_is_mailed(cast: Cast, visit: As) -> None:
    User.objects.filter(pk=cast.bob.pk).update(email_confirmed_at=None)
    olga = visit(cast.olga)
    assert act("user", cast.bob, "confirm_email") in olga.get(f"/organise/people/{cast.bob.pk}/").content.decode()
    olga.post(act("user", cast.bob, "confirm_email"))
    cast.bob.refresh_from_db()
    assert not cast.bob.must_confirm_email
    again = olga.post(act("user", cast.bob, "confirm_email"), follow=True).content.decode()
    assert "Its e-mail is confirmed already." in again
    olga.post(act("user", cast.bob, "mail_link"))
    assert (Letter.objects.get().kind, Letter.objects.get().email) == ("PASSWORD_RESET", cast.bob.email)


def test_an_account_is_deleted_by_people_with_that_right_but_not_their_own(cast: Cast, visit: As) -> None:
    helper = factories.user("helper", is_staff=True)
    helper.user_permissions.add(*Permission.objects.filter(codename__in=("view_user", "change_user")))
    assert visit(helper).post(act("user", cast.bob, "delete")).status_code == 403
    helper.user_permissions.add(Permission.objects.get(codename="delete_user"))
    visit(helper).post(act("user", cast.olga, "delete"))
    visit(helper).post(act("user", helper, "delete"))
    assert set(User.objects.filter(username__in=("olga", "helper"))) == {cast.olga, helper}
    visit(helper).post(act("user", cast.bob, "delete"))
    cast.bob.refresh_from_db()
    assert cast.bob.is_deleted


def test_a_profile_is_changed_by_organisers_but_not_that_of_an_organiser(cast: Cast, visit: As) -> None:
    helper = factories.user("helper", is_staff=True)
    helper.user_permissions.add(*Permission.objects.filter(codename__in=("view_user", "change_user")))
    form = {"username": "bobby", "email": cast.bob.email, "team": "Blue", "is_staff": "on", "is_superuser": "on"}
    assert visit(helper).post(f"/organise/people/{cast.bob.pk}/profile/", form).status_code == 302
    assert visit(helper).post(f"/organise/people/{cast.olga.pk}/profile/", form).status_code == 403
    cast.bob.refresh_from_db()
    assert (cast.bob.username, cast.bob.team, cast.bob.is_staff, cast.bob.is_superuser) == (
        "bobby",
        "Blue",
        False,
        False,
    )
    assert AuditEntry.objects.get(action="change").changes["username"] == ["bob", "bobby"]


@pytest.mark.parametrize("name", [".", "..", "-bob", "b\u200bob", "anonymous", "alice", "Alice"])
def test_an_organiser_gives_no_name_that_a_new_account_could_not_have(cast: Cast, visit: As, name: str) -> None:
    form = {"username": name, "email": cast.bob.email}
    assert visit(cast.olga).post(f"/organise/people/{cast.bob.pk}/profile/", form).status_code == 422
    cast.bob.refresh_from_db()
    assert cast.bob.username == "bob"


def test_an_agent_gets_no_name_that_is_taken(stage: Stage, cast: Cast, visit: As) -> None:
    other = factories.agent(cast.alice, stage.environment, "another")
    address = reverse("web:organise_change_agent", args=[other.pk])
    page = visit(cast.olga).post(address, {"name": "Anna", "opponents": other.opponents, "is_public": "on"})
    assert page.status_code == 422
    assert "There is already one agent with this name" in page.content.decode()
    other.refresh_from_db()
    assert other.name == "another"


def test_the_log_of_a_private_build_needs_the_right_to_see_versions(stage: Stage, cast: Cast, visit: As) -> None:
    Build.objects.update(log="a secret step", error="a secret reason")
    helper = factories.user("helper", is_staff=True)
    helper.user_permissions.add(Permission.objects.get(codename="view_build"))
    build = stage.anna.builds.latest("pk")
    pages = (f"/organise/jobs/build/{build.pk}/", "/organise/jobs/build/?q=secret", "/organise/jobs/build/")
    for page in pages:
        assert "a secret" not in visit(helper).get(page).content.decode()
    helper.user_permissions.add(Permission.objects.get(codename="view_submission"))
    assert "a secret step" in visit(helper).get(pages[0]).content.decode()
