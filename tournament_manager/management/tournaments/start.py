"""Start a tournament of an environment now, or plan one for later."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.template.defaultfilters import pluralize
from django.utils import timezone

from arena_kit.ranking.formats import format_name, format_usual
from core.editions.progress import tournament_begin
from core.editions.services import start_now
from core.errors import Refused
from core.models import Eligibility, Environment, Participant, Tournament, TournamentState
from core.tournaments.planning import tournament_plan
from core.tournaments.selectors import tournament_progress
from tournament_manager.management.arguments import (
    add_plan_arguments,
    environment_named,
    settings_named,
    time_named,
)

POLL_SECONDS = 2.0
OVER = (TournamentState.FINISHED, TournamentState.CANCELLED)


class Start(BaseCommand):
    help = (
        "Start an edition now, also when no agent has changed since the last one; with a format, a name or a time "
        "(--format, --name, --at) a tournament of its own, beside the editions."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("environment", help="slug of the environment, e.g. connect-four")
        add_plan_arguments(parser)
        parser.add_argument(
            "--no-openings", action="store_true", help="matches begin at the start position of the game"
        )
        parser.add_argument("--seed", type=int, help="the seed of all its duels; drawn at random unless given")
        when = parser.add_mutually_exclusive_group()
        when.add_argument("--now", action="store_true", help="begin at once (the default unless --at is given)")
        when.add_argument("--at", metavar="TIME", help="begin at this time, e.g. 2026-12-04T18:00 (UTC)")
        parser.add_argument(
            "--registration",
            action="store_true",
            help="with --at: owners register agents until then; without it every agent that may play takes part",
        )
        parser.add_argument("--wait", action="store_true", help="return when it is over, with its table")

    def handle(self, *args: Any, **options: Any) -> None:
        environment = environment_named(options["environment"])
        own = (
            "format",
            "set",
            "name",
            "unrated",
            "no_openings",
            "max_participants",
            "teams",
            "seed",
            "at",
            "registration",
        )
        try:
            if any(_is_given(options[name]) for name in own) or options["results"] != "public":
                tournament = self.planned(environment, options)
            else:
                tournament = start_now(environment)
        except Refused as refusal:
            raise CommandError(str(refusal)) from None
        if tournament.state == TournamentState.PLANNED:
            assert tournament.starts_at is not None
            self.stdout.write(
                f"Planned {tournament} as edition {tournament.edition}: {tournament.moment(tournament.starts_at)}."
            )
        else:
            count = tournament_progress(tournament).total if tournament.plays_alone else tournament.duels.count()
            self.stdout.write(f"Started {tournament} with {count} {_played(tournament)}{pluralize(count)}.")
        if options["wait"]:
            self.wait(tournament)

    def planned(self, environment: Environment, options: dict[str, Any]) -> Tournament:
        """Plan a tournament, and begin it unless a time is given. Raises Refused and then leaves nothing behind."""
        if options["registration"] and options["at"] is None:
            raise CommandError("--registration needs time to register: add --at, or leave --registration out.")
        now = timezone.now()
        played = options["format"] or format_usual(environment.seats)
        tournament = Tournament(
            environment=environment,
            name=f"{format_name(played)}, {now:%Y-%m-%d}" if options["name"] is None else options["name"],
            format=played,
            settings=settings_named(options["set"]),
            seed=options["seed"] or 0,
            is_rated=not options["unrated"],
            has_openings=not options["no_openings"],
            results=options["results"].upper(),
            registration_opens_at=now if options["registration"] else None,
            starts_at=now if options["at"] is None else time_named(options["at"]),
            eligibility=Eligibility.TEAMS if options["teams"] else Eligibility.EVERYBODY,
            teams=options["teams"],
            max_participants=options["max_participants"],
        )
        with transaction.atomic():
            tournament_plan(tournament=tournament, now=now)
            if options["at"] is None:
                tournament_begin(tournament, now=now)
        tournament.refresh_from_db()
        return tournament

    def wait(self, tournament: Tournament) -> None:
        """Wait until a tournament is over, writing its progress whenever that has changed."""
        said = ""
        while tournament.state not in OVER:
            progress, played = tournament_progress(tournament), f"{_played(tournament)}s"
            line = f"{tournament.get_state_display().capitalize()}: {progress.done} of {progress.total} {played} over."
            if line != said:
                self.stdout.write(line)
                said = line
            time.sleep(POLL_SECONDS)
            tournament.refresh_from_db()
        if tournament.state == TournamentState.CANCELLED:
            raise CommandError(f"{tournament} was cancelled. {tournament.cancel_reason}".rstrip())
        rows = Participant.objects.filter(tournament=tournament).select_related("submission__agent")
        for row in rows.order_by("rank", "pk"):
            self.stdout.write(f"{row.rank:>4}  {row.submission}")


def _played(tournament: Tournament) -> str:
    return "evaluation" if tournament.plays_alone else "duel"


def _is_given(value: object) -> bool:
    """Return whether an option is on the command line, also with a value such as 0 or "", which is refused later."""
    return value is not None and value is not False and value != []
