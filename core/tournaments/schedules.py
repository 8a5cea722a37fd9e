"""Saves schedules of tournaments, mirrors them to django-q, and carries each out once per occurrence.

django-q wakes the tournament manager at the scheduled time; the row holds what to do. The watchdog checks as well, so
that a lost message or an outage loses nothing; of several missed times only the last one counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django_q.models import Schedule

from arena_kit.ranking.formats import settings_checked
from arena_kit.text import plain_line
from core.errors import Refused
from core.jobs.messages import SCHEDULED_TASK
from core.jobs.schedules import message_of
from core.models import Eligibility, Tournament, TournamentSchedule
from core.tournaments.cron import cron_check, cron_last, cron_next
from core.tournaments.planning import name_check, plan_check, tournament_plan
from core.tournaments.seasons import season_at

IN_TIME = timedelta(minutes=30)
"""If a schedule runs at most this late, its hours count from the scheduled time, so that they stay round."""
MOST_HOURS = 366 * 24
"""The most hours of registration and of freeze."""
NAME_LENGTH: int = TournamentSchedule._meta.get_field("name").max_length or 0
"""The longest name of a schedule, and the longest title."""
TITLE_LENGTH: int = Tournament._meta.get_field("name").max_length or 0


def schedule_check(schedule: TournamentSchedule, *, now: datetime) -> None:
    """Raise Refused, naming the field, for a schedule that cannot be carried out. The row may be unsaved."""
    for field in ("name", "title"):
        name_check(getattr(schedule, field), most=NAME_LENGTH, field=field)
    cron_check(schedule.cron, now=now)
    for field in ("registration_hours", "freeze_hours"):
        if not 0 <= getattr(schedule, field) <= MOST_HOURS:
            raise Refused(f"Hours of a schedule range from 0 to {MOST_HOURS} (a year).", field=field)
    if schedule.freeze_hours and not schedule.registration_hours:
        raise Refused(
            "Without registration the tournament begins at once, so it cannot freeze versions before. Set hours of "
            "registration, or no freeze.",
            field="freeze_hours",
        )
    if schedule.freeze_hours > schedule.registration_hours:
        raise Refused(
            "Versions would be frozen before registration opens; make the freeze shorter.", field="freeze_hours"
        )
    plan_check(_tournament(schedule, due_at=now, now=now), invited=(), now=now)


def schedule_save(*, schedule: TournamentSchedule, now: datetime) -> None:
    """Save a new or changed schedule; times that have passed are not made up for. Raises Refused.

    An inactive schedule is not checked, because it may have become impossible.
    """
    schedule.name, schedule.title = plain_line(schedule.name), plain_line(schedule.title)
    if TournamentSchedule.objects.filter(name=schedule.name).exclude(pk=schedule.pk).exists():
        raise Refused(
            f"There is a schedule {schedule.name!r} already; take another name, or remove it first.", field="name"
        )
    if schedule.is_active:
        schedule.settings = settings_checked(schedule.format, schedule.settings)
        schedule_check(schedule, now=now)
        schedule.teams = [name.strip() for name in schedule.teams if name.strip()]
    with transaction.atomic():
        schedule.handled_until = now
        schedule.save()
        schedule_mirror(schedule=schedule, now=now)


def schedule_remove(*, schedule: TournamentSchedule) -> None:
    """Delete a schedule; the tournaments that it has planned stay."""
    with transaction.atomic():
        Schedule.objects.filter(name=_name(schedule)).delete()
        schedule.delete()


def schedule_mirror(*, schedule: TournamentSchedule, now: datetime) -> None:
    """Make django-q wake the tournament manager at the scheduled times while the schedule is active."""
    if not schedule.is_active:
        Schedule.objects.filter(name=_name(schedule)).delete()
        return
    values: Mapping[str, Any] = {
        **message_of("tournament", SCHEDULED_TASK, schedule.pk),
        "schedule_type": Schedule.CRON,
        "cron": schedule.cron,
        "repeats": -1,
        "next_run": cron_next(schedule.cron, after=now),
    }
    Schedule.objects.update_or_create(name=_name(schedule), defaults=values)


def schedule_run(*, schedule: TournamentSchedule, now: datetime) -> Tournament | None:
    """Plan the tournament of the last scheduled time, unless that has been handled; None when nothing was planned.

    An obstacle, e.g. a closed environment, is noted in the schedule and not tried again.
    """
    due_at = cron_last(schedule.cron, now=now)
    with transaction.atomic():
        # Only one of two workers passes this update for a given time.
        rows = TournamentSchedule.objects.filter(pk=schedule.pk, is_active=True, cron=schedule.cron)
        if not rows.filter(handled_until__lt=due_at).update(handled_until=due_at):
            return None
        row = rows.select_related("environment").get()
        planned = None
        try:
            with transaction.atomic():
                planned = tournament_plan(tournament=_tournament(row, due_at=due_at, now=now), now=now)
            note = f"Planned edition {planned.edition}."
        except Refused as refusal:
            note = f"Nothing was planned. {refusal}"
        TournamentSchedule.objects.filter(pk=row.pk).update(last_note=note[:300])
    return planned


def _tournament(schedule: TournamentSchedule, *, due_at: datetime, now: datetime) -> Tournament:
    """The unsaved tournament of one occurrence of a schedule."""
    base = due_at if now - due_at < IN_TIME else now
    begins_at = base + timedelta(hours=schedule.registration_hours) if schedule.registration_hours else now
    has_registration = schedule.registration_hours > 0
    return Tournament(
        environment=schedule.environment,
        name=_title(schedule, due_at),
        format=schedule.format,
        settings=schedule.settings,
        is_rated=schedule.is_rated,
        results=schedule.results,
        season=season_at(schedule.environment, begins_at) if schedule.in_season else None,
        registration_opens_at=base if has_registration else None,
        registration_closes_at=begins_at if has_registration else None,
        freezes_at=begins_at - timedelta(hours=schedule.freeze_hours) if schedule.freeze_hours else None,
        starts_at=begins_at,
        eligibility=Eligibility.TEAMS if schedule.teams else Eligibility.EVERYBODY,
        teams=schedule.teams,
        max_participants=schedule.max_participants,
        created_by=schedule.created_by,
        schedule=schedule if schedule.pk else None,
        due_at=due_at,
    )


def _title(schedule: TournamentSchedule, due_at: datetime) -> str:
    # str.format would let a title read attributes of its arguments.
    filled = schedule.title.replace("{schedule}", schedule.name).replace("{date}", f"{due_at:%Y-%m-%d}")
    return filled[:TITLE_LENGTH]


def _name(schedule: TournamentSchedule) -> str:
    """The name of django-q's row."""
    return f"tournaments {schedule.pk}"
