"""Saves schedules of tournaments, and carries each out once per occurrence.

The watchdog looks for those that are due once a minute, so an outage loses nothing; of several missed times only the
last one counts.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db import transaction

from arena_kit.ranking.formats import settings_checked
from arena_kit.text import plain_line
from core.errors import Refused
from core.models import Eligibility, Tournament, TournamentSchedule
from core.times import zone_of
from core.tournaments.cron import cron_check, cron_last
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
    schedule.handled_until = now
    schedule.save()


def schedule_run(*, schedule: TournamentSchedule, now: datetime) -> Tournament | None:
    """Plan the tournament of the last scheduled time, unless that has been handled; None when nothing was planned.

    An obstacle, e.g. a closed environment, is noted in the schedule and not tried again.
    """
    due_at = cron_last(schedule.cron, now=now, zone=schedule.time_zone)
    with transaction.atomic():
        # Only one of two workers passes this update for a given time.
        as_read = {"cron": schedule.cron, "time_zone": schedule.time_zone}
        rows = TournamentSchedule.objects.filter(pk=schedule.pk, is_active=True, **as_read)
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
    # By the clocks of its zone: what begins at 18:00 a week later still does after they have changed.
    local_end = base.astimezone(zone_of(schedule.time_zone)) + timedelta(hours=schedule.registration_hours)
    begins_at = local_end.astimezone(UTC) if schedule.registration_hours else now
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
        time_zone=schedule.time_zone,
        due_at=due_at,
    )


def _title(schedule: TournamentSchedule, due_at: datetime) -> str:
    # str.format would let a title read attributes of its arguments.
    day = due_at.astimezone(zone_of(schedule.time_zone)).date().isoformat()
    filled = schedule.title.replace("{schedule}", schedule.name).replace("{date}", day)
    return filled[:TITLE_LENGTH]
