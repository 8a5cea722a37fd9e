"""Start, plan and schedule tournaments, look after ladders, and void rounds."""

from __future__ import annotations

from core.management.parts import CommandOfParts
from tournament_manager.management.tournaments.ladder import Ladder
from tournament_manager.management.tournaments.schedule import Schedule
from tournament_manager.management.tournaments.start import Start
from tournament_manager.management.tournaments.void_round import VoidRound


class Command(CommandOfParts):
    help = "Start, plan and schedule tournaments, look after ladders, and void rounds."
    parts = {"start": Start, "schedule": Schedule, "ladder": Ladder, "void-round": VoidRound}
