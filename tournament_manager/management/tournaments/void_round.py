"""Void a round of a tournament and have it played again."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.errors import Refused
from core.tournaments.voiding import round_void
from tournament_manager.management.arguments import environment_named


class VoidRound(BaseCommand):
    help = "Void a round of an organisers' tournament, also of one that has ended: it is played again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("environment", help="slug of the environment, e.g. connect-four")
        parser.add_argument("edition", type=int, help="number of the tournament, as in the address of its page")
        parser.add_argument("round", type=int)
        parser.add_argument("--reason", required=True, help="a sentence that all visitors can read")

    def handle(self, *args: Any, **options: Any) -> None:
        environment, edition = environment_named(options["environment"]), options["edition"]
        tournament = environment.tournaments.filter(edition=edition).first()
        if tournament is None:
            last = environment.tournaments.order_by("-edition").first()
            found = f"the last one is {last.edition}" if last else "it has no editions yet"
            raise CommandError(f"{environment} has no edition {edition}: {found}.")
        if not options["reason"].strip():
            raise CommandError("Give a reason: a sentence that all visitors can read.")
        try:
            count = round_void(tournament=tournament, number=options["round"], reason=options["reason"], user=None)
        except Refused as refusal:
            raise CommandError(str(refusal)) from None
        duels = "1 duel" if count == 1 else f"{count} duels"
        self.stdout.write(f"{tournament}: round {options['round']} is void, {duels} in all. It is played again.")
