"""Check a finished duel or evaluation against its record, or have it played again."""

from __future__ import annotations

from core.management.parts import CommandOfParts
from duel_runner.management.rechecks.duels import DuelRecheck
from duel_runner.management.rechecks.evaluations import EvaluationRecheck
from duel_runner.recheck.command import EXIT_CODES


class Command(CommandOfParts):
    help = "Check a finished duel or evaluation from its record, and keep the verdict. " + EXIT_CODES
    parts = {"duel": DuelRecheck, "evaluation": EvaluationRecheck}
