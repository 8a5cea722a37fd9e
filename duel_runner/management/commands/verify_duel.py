"""Check a finished duel, and have it played again."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.models import Duel, JobState
from core.selectors.duels import duel_get
from core.worker import PlatformFault
from duel_runner import referee
from duel_runner.audit import duel_audit, play_again
from duel_runner.bench import sandbox
from duel_runner.sandbox.base import SandboxError
from duel_runner.verify import Mismatch, compare_plays
from environments.records import DuelRecord, MatchRecord

MISMATCH, NOT_CHECKED, DIFFERS = 1, 2, 3


class Command(BaseCommand):
    help = (
        "Simulate every match of a finished duel again from its record, compare row and ledger, and keep the verdict. "
        "Exit code: 0 it verifies, 1 it does not, 2 it cannot be checked, 3 it verifies but its players played "
        "otherwise this time."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("duel", type=int, help="number of the duel, as in the address of its page")
        parser.add_argument(
            "--replay-players", action="store_true", help="let the same images play it again and compare the actions"
        )
        parser.add_argument("--sandbox", choices=("docker", "process"), default="", help="default: SANDBOX")

    def handle(self, *args: Any, **options: Any) -> None:
        duel = self._finished(options["duel"])
        try:
            audit = duel_audit(duel)
        except PlatformFault as fault:
            raise CommandError(f"Duel {duel.pk} cannot be checked: {fault}", returncode=NOT_CHECKED) from None
        matches = audit.record.matches if audit.record else ()
        wrong = {mismatch.match for mismatch in audit.mismatches}
        for match in matches:
            if match.number not in wrong:
                self.stdout.write(f"Match {match.number}: ok, {_ending(match)} in {len(match.actions)} moves")
        self._list("MISMATCH", audit.mismatches)
        self.stdout.write(f"Duel {duel.pk}: {duel}, {duel.environment_version}, seed {duel.seed}")
        self.stdout.write(f"sha256 {duel.record_sha256 or 'was not kept'}")
        self.stdout.write(f"{'DOES NOT VERIFY' if wrong else 'Verified'}: {duel.verification}")
        code = self._replay(duel, audit.record, options["sandbox"]) if options["replay_players"] and audit.record else 0
        if wrong or code:
            sys.exit(MISMATCH if wrong else code)

    def _finished(self, number: int) -> Duel:
        try:
            duel = duel_get(number)
        except Duel.DoesNotExist:
            raise CommandError(f"There is no duel {number}.", returncode=NOT_CHECKED) from None
        if duel.state != JobState.SUCCEEDED:
            raise CommandError(
                f"Duel {number} has no result to check: it is {duel.get_state_display()}.", returncode=NOT_CHECKED
            )
        return duel

    def _replay(self, duel: Duel, record: DuelRecord, name: str) -> int:
        """Play again in the sandbox of this name, say what came of it, and return the exit code of that."""
        for player, digest in enumerate((duel.player_1_digest, duel.player_2_digest), start=1):
            what = f"image {digest}" if digest else "no digest was kept, so what is there now plays"
            self.stdout.write(f"Player {player}: {what}")
        # A stop from outside becomes an exception, so that no player is left behind.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            arena = sandbox(name)
            again = play_again(duel, arena)
        except (SandboxError, referee.PlatformFault, PlatformFault) as fault:
            self.stderr.write(f"The players cannot play again: {fault}")
            return NOT_CHECKED
        differences = compare_plays(record, again)
        self._list("DIFFERS", differences)
        verdict = "differs: a player is not deterministic, or the record is wrong" if differences else "the same"
        same = f"{len(record.matches) - len(differences)} of {len(record.matches)} matches went as recorded"
        self.stdout.write(f"Played again, sandbox {arena.name}: {verdict}; {same}.")
        return DIFFERS if differences else 0

    def _list(self, word: str, mismatches: list[Mismatch]) -> None:
        for mismatch in mismatches:
            self.stdout.write(f"{word} {mismatch}")


def _ending(match: MatchRecord) -> str:
    return f"{match.outcome.value.lower()}, {match.error_code}" if match.error_code else match.outcome.value.lower()
