"""The page for operators: who sees it, and what stands on it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.asserts import assertContains

from core.models import Alarm, Build, Environment, JobFault, JobState, Worker
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As

pytestmark = pytest.mark.django_db
PAGE = "/operations/"


def test_it_is_for_organisers_who_may_see_workers(cast: Cast, visit: As) -> None:
    assert visit(None).get(PAGE)["Location"] == f"/login/?next={PAGE}"
    assert visit(cast.alice).get(PAGE).status_code == 403
    helper = factories.user("helper", is_staff=True)
    assert visit(helper).get(PAGE).status_code == 403
    # The tabs of organisers are those that they may see.
    assert PAGE not in visit(helper).get("/organise/").content.decode()
    assertContains(visit(cast.olga).get("/organise/"), f'href="{PAGE}"')
    assertContains(visit(cast.olga).get("/"), 'href="/organise/"')


def test_it_shows_an_arena_in_which_nothing_has_happened(cast: Cast, visit: As) -> None:
    page = visit(cast.olga).get(PAGE)
    assertContains(page, "No worker is known.")
    assertContains(page, "0 succeeded, 0 failed by a player&#x27;s fault")


def test_it_shows_queues_hosts_alarms_and_error_rates(cast: Cast, environment: Environment, visit: As) -> None:
    now = timezone.now()
    agent = factories.agent(cast.alice, environment)
    for state, fault in ((JobState.SUCCEEDED, JobFault.NONE), (JobState.FAILED, JobFault.PLATFORM)):
        row = factories.build(factories.submission(agent), state, fault=fault)
        Build.objects.filter(pk=row.pk).update(created_at=now - timedelta(minutes=4), started_at=now, ended_at=now)
    Alarm.objects.create(key="odd", message="<b>Odd</b>.", address="/duels/3/", raised_at=now)
    common = {"version": "1.0", "python": "3.11", "started_at": now, "host": "oak"}
    Worker.objects.create(name="oak-1", pid=1, queue="build", seen_at=now, engine_error="It is away.", **common)
    Worker.objects.create(name="oak-2", pid=2, queue="duel", seen_at=now - timedelta(hours=1), **common)
    page = visit(cast.olga).get(PAGE)
    for text in (
        "&lt;b&gt;Odd&lt;/b&gt;.", '<a href="/duels/3/">Open the page</a>', "It is away.", "1 lost", "<dd>50.0%</dd>",
        "1 succeeded, 0 failed by a player&#x27;s fault, 1 by the arena&#x27;s",
    ):  # fmt: skip
        assertContains(page, text)
    # Without scripts every chart is the table behind it, hour by hour.
    assert page.content.decode().count('<th scope="row" class="num">') == 4 * 24
    assertContains(page, "Build workers were busy 0% of the last 24 hours.")
