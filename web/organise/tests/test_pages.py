"""The organisers' pages of agents, environments, workers, webhooks and the audit log, and what each right opens."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains
from pytest_django.fixtures import Settings

from arena_kit.environment.registry import LeftOut
from core.jobs.workers import worker_appear
from core.models import Agent, AuditEntry, Delivery, Environment, JobState, TournamentState, User, Webhook, Worker
from core.people.audit_log import Operator, audit_record
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.organise.alarms import ADVICE, OTHER, advice
from web.organise.urls import pages as organise
from web.tests.arena import Stage

pytestmark = pytest.mark.django_db
HOOK = "https://hooks.example/secret-part"


def test_no_label_is_the_name_of_a_column(environment: Environment, cast: Cast, visit: As) -> None:
    olga, agent = visit(cast.olga), factories.agent(cast.alice, environment)
    pages = {
        f"/organise/agents/{agent.pk}/": ["Matches in public data sets", "If the agent is public"],
        f"/organise/environments/{environment.pk}/": ["Uploads a day", "Cost of rollouts a day"],
        f"/organise/people/{cast.alice.pk}/": ["Uploads a day", "Cost of rollouts a day"],
        f"/organise/people/{cast.alice.pk}/profile/": ["User name"],
        "/organise/models/add/": ["Price of questions", "Price of cached questions", "Price of answers"],
    }
    for address, labels in pages.items():
        page = olga.get(address).content.decode()
        assert [label for label in labels if f">{label}<" not in page] == []
        for column in ("Quota ", "micros<", "Shares moves", ">Unknown<", ">Username<"):
            assert column not in page


def test_agents_are_found_by_words_environment_and_state(stage: Stage, cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    Agent.objects.filter(pk=stage.berta.agent_id).update(is_disabled=True, disabled_reason="It copies anna.")

    def names(query: str) -> set[str]:
        return {agent.name for agent in olga.get(f"/organise/agents/?{query}").context["page"]}

    assert names("") == {"anna", "berta", "clara"}
    assert names("q=ann") == {"anna"}
    assert names("q=charlie") == {"clara"}
    assert names("show=disabled") == {"berta"}
    assert names("show=public") == {"clara"}
    assert names("environment=quarto") == set()
    assert names("q=%00") == {"anna", "berta", "clara"}
    assert "It copies anna." in olga.get("/organise/agents/").content.decode()


def test_environments_say_why_they_are_not_available_first(environment: Environment, cast: Cast, visit: As) -> None:
    task = factories.task()
    Environment.objects.filter(pk=environment.pk).update(unavailable_because="It lacks numpy.")
    answer = visit(cast.olga).get("/organise/environments/")
    assert [row.pk for row, _ in answer.context["rows"]] == [environment.pk, task.pk]
    page = answer.content.decode()
    assert "It lacks numpy." in page
    assert environment.spec_id in page
    assert reverse("web:organise_change_environment", args=[environment.pk]) in page


def test_files_that_are_left_out_are_listed_with_what_to_type_as_code(
    environment: Environment, cast: Cast, visit: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    because = "nim.yml: `slug`: <b>missing</b>."
    monkeypatch.setattr("web.organise.environment_views.left_out", lambda: (LeftOut(Path("nim.yml"), because),))
    Environment.objects.filter(pk=environment.pk).update(unavailable_because="Run `make extras`, or wait.")
    page = visit(cast.olga).get("/organise/environments/").content.decode()
    assert "nim.yml: <code>slug</code>: &lt;b&gt;missing&lt;/b&gt;." in page
    assert "Run <code>make extras</code>, or wait." in page


def test_openings_are_said_in_words(cast: Cast, visit: As) -> None:
    factories.environment("connect-four-v2")
    rows = visit(cast.olga).get("/organise/environments/").context["rows"]
    assert any("plies" in openings or openings == "from a book" for _, openings in rows)


def test_workers_say_what_they_do(stage: Stage, cast: Cast, visit: As) -> None:
    worker = worker_appear(name="host:1", host="host", pid=1, queue="duel", version="1", python="3")
    Worker.objects.filter(pk=worker.pk).update(job_kind="duel", job_id=stage.duel.pk)
    olga = visit(cast.olga)
    page = olga.get("/organise/workers/").content.decode()
    assert worker.name in page
    assert f'href="/organise/jobs/duel/{stage.duel.pk}/"' in page


def test_the_overview_counts_the_running_jobs_that_it_lists(stage: Stage, cast: Cast, visit: As) -> None:
    """A worker tells what it does some seconds late: the rows of the jobs are what counts."""
    worker = worker_appear(name="host:1", host="host", pid=1, queue="duel", version="1", python="3")
    over = stage.duel
    Worker.objects.filter(pk=worker.pk).update(job_kind="duel", job_id=over.pk)
    page = visit(cast.olga).get(reverse("web:organise")).content.decode()
    assert "<dt>Running jobs</dt><dd>0</dd>" in page
    assert f">duel {over.pk}</a>" not in page
    others = factories.tournament(
        [factories.ready(factories.agent(cast.alice, factories.environment("quarto"), name)) for name in ("x", "y")],
        state=TournamentState.RUNNING,
    )
    factories.moved(others.duels.all(), JobState.RUNNING)
    Worker.objects.filter(pk=worker.pk).update(job_kind="", job_id=None)
    page = visit(cast.olga).get(reverse("web:organise")).content.decode()
    assert "<dt>Running jobs</dt><dd>1</dd>" in page
    assert f">duel {others.duels.get().pk}</a>" in page


def test_webhooks_are_added_changed_tested_and_deleted(cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    given = {"name": "room", "format": "GENERIC", "secret_url": HOOK, "kinds": ["ALARM"], "is_active": "on"}
    assert olga.post("/organise/webhooks/add/", given | {"secret_url": "http://10.0.0.1/"}).status_code == 422
    for inside in (
        "https://10.0.0.1/",
        "https://localhost./hook",
        "https://[::1]/",
        "https://127.1/",
        "https://2130706433/",
    ):
        refused = olga.post("/organise/webhooks/add/", given | {"secret_url": inside})
        assertContains(refused, "This address is not on the public internet", status_code=422)
        assertContains(refused, '<a href="#id_secret_url">', status_code=422)
        # People read what they have typed.
        assertContains(refused, f'value="{inside}"', status_code=422)
    page = olga.post("/organise/webhooks/add/", given).content.decode()
    hook = Webhook.objects.get()
    assert f"The secret of this webhook is {hook.secret}." in page
    page = olga.get("/organise/webhooks/").content.decode()
    assert HOOK not in page
    assert "hooks.example" in page

    address = reverse("web:organise_change_webhook", args=[hook.pk])
    assert HOOK not in olga.get(address).content.decode()
    olga.post(address, given | {"secret_url": "", "name": "chat room"})
    hook.refresh_from_db()
    assert (hook.name, hook.secret_url, hook.created_by) == ("chat room", HOOK, cast.olga)
    # The log says that there is an address, never which, and that it changed only if it did.
    assert HOOK not in str(list(AuditEntry.objects.values_list("changes", flat=True)))
    assert AuditEntry.objects.get(action="change").changes.keys() == {"name"}
    olga.post(address, given | {"secret_url": f"{HOOK}/2", "name": "chat room"})
    assert AuditEntry.objects.filter(action="change").latest("pk").changes.keys() == {"secret_url"}
    hook.refresh_from_db()
    assert hook.secret_url == f"{HOOK}/2"

    olga.post(reverse("web:organise_action", args=["webhook", hook.pk, "send_test"]))
    assert Delivery.objects.get().webhook == hook
    assert "a test by an organiser" in olga.get("/organise/webhooks/").content.decode()
    olga.post(reverse("web:organise_action", args=["webhook", hook.pk, "delete"]))
    assert not Webhook.objects.exists()
    assert AuditEntry.objects.filter(action="delete", object_name="chat room").exists()


def test_the_audit_log_is_found_by_person_thing_and_time(stage: Stage, cast: Cast, visit: As) -> None:
    site, olga = AuditEntry.Channel.SITE, visit(cast.olga)
    audit_record(operator=Operator(site, "olga"), action="void", row=stage.duel, note="is void.")
    audit_record(operator=Operator(site, "otto"), action="ban", row=cast.bob)

    def found(query: str) -> set[str]:
        return {entry.action for entry in olga.get(f"/organise/audit/?{query}").context["page"]}

    assert found("person=otto") == {"ban"}
    assert found(f"thing=duel+{stage.duel.pk}") == {"void"}
    assert found("thing=duel") == {"void"}
    assert found("thing=bob") == {"ban"}
    assert found("action=voi") == {"void"}
    today = timezone.now().date()
    assert {"ban", "void"} <= found(f"since={today}&until={today}")
    assert found(f"since={today + timedelta(days=2)}") == set()
    assert olga.get("/organise/audit/?since=never").status_code == 200


def test_each_page_needs_its_own_right(cast: Cast, visit: As) -> None:
    User.objects.filter(pk=cast.olga.pk).update(is_superuser=False)
    olga = visit(cast.olga)
    lists = [route.name for route in organise if "<" not in str(route.pattern) and route.name != "organise"]
    assert len(lists) > 8
    for name in lists:
        assert olga.get(reverse(f"web:{name}")).status_code == 403
    # The overview is for every organiser, and shows what they may see.
    page = olga.get("/organise/").content.decode()
    assert "Alarms" not in page
    assert "/organise/people/" not in page

    cast.olga.user_permissions.add(Permission.objects.get(codename="view_user"))
    assert visit(cast.olga).get("/organise/people/").status_code == 200
    assert "/organise/people/" in visit(cast.olga).get("/organise/").content.decode()


def test_only_superusers_change_other_organisers(cast: Cast, visit: As) -> None:
    User.objects.filter(pk=cast.olga.pk).update(is_superuser=False)
    cast.olga.user_permissions.set(Permission.objects.filter(codename__in=("view_user", "change_user")))
    boss = factories.user("boss", is_staff=True, is_superuser=True)
    visit(cast.olga).post(reverse("web:organise_person", args=[boss.pk]), {"quota_active_agents": "1"})
    visit(cast.olga).post(reverse("web:organise_person", args=[cast.bob.pk]), {"quota_active_agents": "1"})
    boss.refresh_from_db()
    cast.bob.refresh_from_db()
    assert (boss.quota_active_agents, cast.bob.quota_active_agents) == (None, 1)

    peer = factories.user("peer", is_staff=True)
    address = reverse("web:organise_action", args=["user", peer.pk, "ban"])
    assert address not in visit(cast.olga).get(reverse("web:organise_person", args=[peer.pk])).content.decode()
    answer = visit(cast.olga).post(address, {"reason": "Mine alone."}, follow=True)
    assert "Only superusers may change the accounts of organisers" in answer.content.decode()
    peer.refresh_from_db()
    assert peer.is_active
    for name in ("unban", "unlock_logins"):
        visit(cast.olga).post(reverse("web:organise_action", args=["user", peer.pk, name]))
        assert "Only superusers" in AuditEntry.objects.latest("pk").note


def test_the_second_factor_is_asked_for_first(cast: Cast, visit: As, settings: Settings) -> None:
    settings.REQUIRE_STAFF_TOTP = True
    answer = visit(cast.olga).get("/organise/")
    assert answer.headers["Location"].startswith(reverse("mfa_index"))


def test_every_alarm_has_advice_and_its_page_exists(cast: Cast, visit: As) -> None:
    assert advice("queue-duel-stands-still").doc == "operator/troubleshooting"
    assert advice("environment-quarto-fails").anchor == "an-environment-that-fails-in-matches"
    assert advice("edition-of-quarto").anchor == "start-one"
    assert advice("something-new") is OTHER
    client = visit(None)
    for one in (*ADVICE, OTHER):
        page = client.get(reverse("web:doc", args=[one.doc]))
        assert page.status_code == 200
        assert not one.anchor or f'id="{one.anchor}"' in page.content.decode()
