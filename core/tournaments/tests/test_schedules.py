"""Tournaments that are planned again and again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from core.errors import Refused
from core.models import Environment, Tournament, TournamentSchedule
from core.tests import factories
from core.tests.organising import act
from core.tournaments.cron import cron_check
from core.tournaments.schedules import schedule_run, schedule_save

pytestmark = pytest.mark.django_db
FRIDAY = datetime(2026, 3, 6, 18, 0, tzinfo=UTC)
"""The first time of `factories.schedule`."""
WEEK = timedelta(days=7)


def tournaments() -> list[tuple[str, Any]]:
    return list(Tournament.objects.order_by("pk").values_list("name", "due_at"))


@pytest.mark.parametrize(
    ("cron", "sentence"),
    [
        ("0 0 30 2 *", "never occurs, because there is no such day"),
        ("0 0 31 4,6 *", "never occurs"),
        ("61 * * * *", "is not a time in the form of cron"),
        ("every friday", "is not a time in the form of cron"),
        ("0 18 * * 5 30", "is not a time in the form of cron"),
        ("", "is not a time in the form of cron"),
        ("*/5 * * * *", "more than once an hour"),
    ],
)
def test_times_that_never_come_or_are_none_are_refused_with_what_to_do(cron: str, sentence: str) -> None:
    with pytest.raises(Refused) as refusal:
        cron_check(cron, now=FRIDAY)
    assert sentence in str(refusal.value)
    assert "“0 18 * * 5” is every Friday at 18:00" in str(refusal.value)


@pytest.mark.parametrize("cron", ["0 18 * * 5", "0 18 * * FRI", "0 0 29 2 *", "0 */2 * * *", "30 6 1,15 jan-mar *"])
def test_times_that_come_are_taken(cron: str) -> None:
    cron_check(cron, now=FRIDAY)


def test_a_time_is_planned_once_however_often_workers_ask(environment: Environment) -> None:
    row = factories.schedule(environment, registration_hours=48, freeze_hours=1)
    seen_by_two = TournamentSchedule.objects.get()
    assert schedule_run(schedule=row, now=FRIDAY - timedelta(seconds=1)) is None
    planned = schedule_run(schedule=row, now=FRIDAY + timedelta(seconds=7))
    for worker in (row, seen_by_two):
        assert schedule_run(schedule=worker, now=FRIDAY + timedelta(hours=5)) is None
    assert tournaments() == [("weekly, 2026-03-06", FRIDAY)]
    assert planned is not None
    begins_at = FRIDAY + timedelta(hours=48)
    assert (planned.registration_opens_at, planned.registration_closes_at, planned.starts_at) == (
        FRIDAY,
        begins_at,
        begins_at,
    )
    assert planned.freezes_at == begins_at - timedelta(hours=1)
    with pytest.raises(IntegrityError), transaction.atomic():
        Tournament.objects.create(environment=environment, edition=9, schedule=row, due_at=FRIDAY)
    schedule_run(schedule=row, now=FRIDAY + WEEK)
    assert [due_at for _, due_at in tournaments()] == [FRIDAY, FRIDAY + WEEK]


def test_of_many_times_that_were_missed_the_last_is_made_up_for_once(environment: Environment) -> None:
    row = factories.schedule(environment, registration_hours=24)
    back = FRIDAY + 5 * WEEK + timedelta(days=2)
    for _ in range(3):
        schedule_run(schedule=row, now=back)
    planned = Tournament.objects.get()
    assert planned.due_at == FRIDAY + 5 * WEEK
    # The registration is as long as usual.
    assert (planned.registration_opens_at, planned.starts_at) == (back, back + timedelta(hours=24))


def test_what_prevents_a_time_is_noted_and_not_tried_again(environment: Environment) -> None:
    row = factories.schedule(environment)
    Environment.objects.update(is_active=False)
    assert schedule_run(schedule=row, now=FRIDAY) is None
    row.refresh_from_db()
    assert row.last_note == "Nothing was planned. Tic-tac-toe is inactive; make it active first."
    Environment.objects.update(is_active=True)
    assert schedule_run(schedule=row, now=FRIDAY + timedelta(hours=1)) is None
    assert schedule_run(schedule=row, now=FRIDAY + WEEK) is not None


def test_each_belongs_to_the_season_that_is_on_when_it_begins(environment: Environment) -> None:
    row, season = factories.schedule(environment, in_season=True), factories.season(environment)
    for week in (0, 5):
        schedule_run(schedule=row, now=FRIDAY + week * WEEK)
    assert [found.season for found in Tournament.objects.order_by("pk")] == [season, None]


def test_one_that_is_not_active_plans_nothing_also_where_it_could_not_be_played(environment: Environment) -> None:
    row = TournamentSchedule(environment=environment, name="weekly", cron="0 18 * * 5")
    schedule_save(schedule=row, now=FRIDAY)
    Environment.objects.update(is_active=False)
    row.environment.refresh_from_db()
    row.is_active = False
    schedule_save(schedule=row, now=FRIDAY)
    assert schedule_run(schedule=row, now=FRIDAY + WEEK) is None


def test_its_times_stay_when_the_clocks_of_its_zone_change(environment: Environment) -> None:
    # Clocks in Berlin go forward on 28 March 2027, so a week later 18:00 is an hour earlier in UTC.
    row = factories.schedule(
        environment, cron="0 18 * * 5", time_zone="Europe/Berlin", registration_hours=168, title="{date}"
    )
    TournamentSchedule.objects.update(handled_until=datetime(2027, 3, 20, tzinfo=UTC))
    first = schedule_run(schedule=row, now=datetime(2027, 3, 26, 17, 1, tzinfo=UTC))
    second = schedule_run(schedule=row, now=datetime(2027, 4, 2, 16, 1, tzinfo=UTC))
    assert first is not None
    assert second is not None
    assert (first.name, first.time_zone) == ("2027-03-26", "Europe/Berlin")
    assert first.registration_opens_at == datetime(2027, 3, 26, 17, tzinfo=UTC)
    assert first.starts_at == second.registration_opens_at == datetime(2027, 4, 2, 16, tzinfo=UTC)


@pytest.mark.slow
def test_organisers_schedule_on_a_form_that_says_what_is_wrong(organiser: Client, environment: Environment) -> None:
    address = reverse("web:organise_add_tournamentschedule")
    form = {
        "environment": environment.pk, "name": "monthly", "cron": "0 0 30 2 *", "title": "{schedule}",
        "format": "swiss", "results": "PUBLIC", "registration_hours": "2", "freeze_hours": "3",
        "is_active": "on",
    }  # fmt: skip
    assert list(organiser.post(address, form).context["form"].errors) == ["cron"]
    form["cron"] = "0 0 28 2 *"
    assert list(organiser.post(address, form).context["form"].errors) == ["freeze_hours"]
    years = form | {"registration_hours": str(2**31 - 1)}
    assert list(organiser.post(address, years).context["form"].errors) == ["registration_hours"]
    form["freeze_hours"] = "0"
    assert organiser.post(address, form).status_code == 302
    # Also where a name only looks the same.
    for name in ("monthly", "monthly\u200b"):
        again = organiser.post(address, form | {"name": name})
        assert list(again.context["form"].errors) == ["name"]
    assert TournamentSchedule.objects.get().created_by is not None
    assert "is deleted" in act(organiser, "delete", TournamentSchedule.objects.get())[0]
