"""Start the next edition of an environment's tournament now."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.errors import Refused
from core.models import Environment
from tournament_manager.editions import start_now


class Command(BaseCommand):
    help = "Start an edition now, also when no agent has changed since the last one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("environment", help="slug of the environment, e.g. connect-four")

    def handle(self, *args: Any, **options: Any) -> None:
        environment = Environment.objects.filter(slug=options["environment"]).first()
        if environment is None:
            known = ", ".join(Environment.objects.values_list("slug", flat=True)) or "none; run sync_environments"
            raise CommandError(f"There is no environment {options['environment']!r}. There are: {known}.")
        try:
            tournament = start_now(environment)
        except Refused as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write(f"Started {tournament} with {tournament.duels.count()} duels.")
