"""Recompute all standings and ratings from the ledger."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from core.models import Environment
from tournament_manager.ledger import ratings_refresh, standings_refresh


class Command(BaseCommand):
    help = "Recompute the standings of every edition and all ratings from the ledger, e.g. after their rules changed."

    def handle(self, *args: Any, **options: Any) -> None:
        for environment in Environment.objects.all():
            tournaments = environment.tournaments.order_by("edition")
            for tournament in tournaments:
                standings_refresh(tournament)
            ratings_refresh(environment)
            self.stdout.write(f"{environment}: {len(tournaments)} editions recomputed")
