"""Schedule recurring tournaments, list the schedules, or remove one."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from arena_kit.ranking.formats import format_usual
from core.errors import Refused
from core.models import TournamentSchedule
from core.times import zone_check
from core.tournaments.cron import cron_next
from core.tournaments.schedules import schedule_save
from tournament_manager.management.arguments import add_plan_arguments, environment_named, settings_named


class Schedule(BaseCommand):
    help = (
        "Schedule tournaments of an environment, e.g. tournament schedule connect-four --cron '0 18 * * 5' "
        "--registration-hours 48. Organisers see and change them in the admin."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("environment", nargs="?", help="slug of the environment, e.g. connect-four")
        parser.add_argument("--cron", help="when a tournament is planned: '0 18 * * 5' is every Friday at 18:00")
        parser.add_argument("--time-zone", default="", metavar="ZONE", help="of --cron, e.g. Europe/Berlin")
        add_plan_arguments(parser)
        parser.add_argument("--title", help="name of each tournament; {schedule} and {date} are filled in")
        parser.add_argument(
            "--registration-hours",
            type=int,
            default=0,
            metavar="H",
            help="how long owners may register before it begins",
        )
        parser.add_argument(
            "--freeze-hours",
            type=int,
            default=0,
            metavar="H",
            help="how long before the beginning versions freeze: later ones do not take part",
        )
        parser.add_argument("--seasons", action="store_true", help="each tournament belongs to the season of its date")
        parser.add_argument("--list", action="store_true", help="list the schedules")
        parser.add_argument(
            "--remove", metavar="NAME", help="remove a schedule; the tournaments that it has planned stay"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"]:
            self.list()
        elif options["remove"]:
            self.remove(options["remove"])
        elif not options["environment"] or not options["cron"]:
            raise CommandError("Name an environment and --cron, or ask for --list or --remove NAME.")
        else:
            self.add(options)

    def list(self) -> None:
        for row in TournamentSchedule.objects.select_related("environment"):
            when = f"next {_next(row)}" if row.is_active else "not active"
            self.stdout.write(
                f"{row.name}: {row.environment.slug}, {row.format}, {row.cron!r}, {when}. {row.last_note}"
            )

    def remove(self, name: str) -> None:
        row = TournamentSchedule.objects.filter(name=name).first()
        if row is None:
            known = ", ".join(TournamentSchedule.objects.values_list("name", flat=True)) or "none"
            raise CommandError(f"There is no schedule {name!r}. There are: {known}.")
        row.delete()
        self.stdout.write(f"Removed {name}; the tournaments that it has planned stay.")

    def add(self, options: dict[str, Any]) -> None:
        environment = environment_named(options["environment"])
        played = options["format"] or format_usual(environment.seats)
        row = TournamentSchedule(
            environment=environment,
            name=f"{environment.slug} {played}" if options["name"] is None else options["name"],
            cron=" ".join(options["cron"].split()),
            time_zone=options["time_zone"],
            format=played,
            settings=settings_named(options["set"]),
            registration_hours=options["registration_hours"],
            freeze_hours=options["freeze_hours"],
            teams=options["teams"],
            max_participants=options["max_participants"],
            is_rated=not options["unrated"],
            results=options["results"].upper(),
            in_season=options["seasons"],
        )
        if options["title"] is not None:
            row.title = options["title"]
        try:
            zone_check(row.time_zone)
            schedule_save(schedule=row, now=timezone.now())
        except ValidationError as problem:
            raise CommandError(problem.message) from None
        except Refused as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write(f"Scheduled {row.name}; next on {_next(row)}.")


def _next(row: TournamentSchedule) -> str:
    return row.moment(cron_next(row.cron, after=timezone.now(), zone=row.time_zone))
