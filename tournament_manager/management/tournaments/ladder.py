"""Show the ladder of an environment, change its settings, or end it."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from arena_kit.ranking.formats import Impossible
from core.editions.ladder_choice import LIMITS, ladder_settings
from core.models import Environment, JobState, Tournament
from core.tournaments.ladder_selectors import ladder_outlook, ladder_running
from core.tournaments.ladders import ladder_change
from core.tournaments.services import ladder_stop


class Ladder(BaseCommand):
    help = "Show the ladder of an environment, or with options change its settings or its end."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("environment", help="slug of the environment, e.g. connect-four")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help=f"a setting: {', '.join(LIMITS)}"
        )
        parser.add_argument("--ends-at", metavar="TIME", help="when it ends, e.g. 2026-12-24T18:00 (UTC), or never")
        parser.add_argument("--end", action="store_true", help="end it now, with its final table")

    def handle(self, *args: Any, **options: Any) -> None:
        environment = Environment.objects.filter(slug=options["environment"], seats__gt=1).first()
        if environment is None:
            known = ", ".join(Environment.objects.filter(seats__gt=1).values_list("slug", flat=True))
            raise CommandError(f"There is no environment {options['environment']!r} with duels. There are: {known}.")
        tournament = ladder_running(environment)
        if tournament is None:
            outlook = ladder_outlook(environment) or "Choose the ladder for this environment in the admin."
            raise CommandError(f"{environment} plays no ladder now. {outlook}")
        try:
            settings = {**tournament.settings, **_settings(options["set"])}
            ladder_settings(settings)
            ends_at = tournament.ends_at if options["ends_at"] is None else _moment(options["ends_at"])
        except (Impossible, ValueError) as error:
            raise CommandError(str(error)) from None
        if options["set"] or options["ends_at"] is not None:
            ladder_change(tournament=tournament, settings=settings, ends_at=ends_at)
        if options["end"]:
            ladder_stop(environment=environment)
            self.stdout.write(
                f"{tournament} ends within seconds; after that {environment} plays no duels until you choose "
                "what it plays."
            )
            return
        self._show(tournament)

    def _show(self, tournament: Tournament) -> None:
        here = tournament.participants.filter(withdrawn_at=None).count()
        waiting = tournament.duels.filter(state=JobState.QUEUED).count()
        played = tournament.duels.filter(state=JobState.SUCCEEDED).count()
        end = f"until {tournament.ends_at:%Y-%m-%d %H:%M} UTC" if tournament.ends_at else "without end"
        self.stdout.write(f"{tournament}: {here} agents, {played} duels played, {waiting} waiting, {end}.")
        if tournament.shortfall:
            self.stdout.write(f"No duels are being played at the moment: {tournament.shortfall}")
        settings = ladder_settings(tournament.settings)
        values = {name: getattr(settings, name, getattr(settings.rules, name, None)) for name in LIMITS}
        self.stdout.write(" ".join(f"{name}={value:g}" for name, value in values.items()))


def _settings(given: list[str]) -> dict[str, object]:
    """Settings of the form NAME=NUMBER. Raises Impossible."""
    settings: dict[str, object] = {}
    for text in given:
        name, sign, value = text.partition("=")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            raise Impossible(f"{text!r} is not a setting with a number; write e.g. pair_cap=50.") from None
        if not sign:
            raise Impossible(f"{text!r} has no value; write e.g. pair_cap=50.")
    return settings


def _moment(text: str) -> datetime | None:
    """A moment in UTC; None for "never". Raises ValueError."""
    if text == "never":
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a time; write e.g. 2026-12-24T18:00, or never.") from None
