"""The parts of the command `recheck` that duels and evaluations share."""

from __future__ import annotations

import signal
import sys
from abc import ABC, abstractmethod
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from django.core.management.base import BaseCommand, CommandError

from arena_kit.errors import PlatformFault
from arena_kit.referee.recheck.mismatch import Mismatch
from arena_kit.sandbox.base import Sandbox
from core.models import Duel, Evaluation, JobState
from duel_runner.recheck.base import Rechecked, Record
from duel_runner.workplace import sandbox

MISMATCH, NOT_CHECKED, DIFFERS = 1, 2, 3
EXIT_CODES = (
    "Exit code: 0 it verifies, 1 it does not, 2 it cannot be checked, 3 it verifies but went differently this time."
)
AnyResult = TypeVar("AnyResult", Duel, Evaluation)


class Recheck(ABC, BaseCommand, Generic[AnyResult, Record]):
    """Checks one finished job against its record and, if asked, has it played again."""

    kind: ClassVar[type[Duel | Evaluation]]
    part: ClassVar[str]
    parts: ClassVar[str]
    """The parts of a job, in the singular and the plural."""

    @abstractmethod
    def get(self, number: int) -> AnyResult:
        """Return the job of this number. Raises its DoesNotExist, and CommandError if it cannot be checked."""

    @abstractmethod
    def recheck(self, job: AnyResult) -> Rechecked[Record]:
        """Check the job and store the verdict. Raises PlatformFault."""

    @abstractmethod
    def endings(self, record: Record) -> Iterator[tuple[int, str]]:
        """Return the number of every part and how it ended, in words."""

    @abstractmethod
    def facts(self, job: AnyResult) -> Sequence[str]:
        """Return lines about the job, shown above the verdict."""

    @abstractmethod
    def images(self, job: AnyResult) -> Iterable[tuple[str, str]]:
        """Return the submissions that play again, with the digests of their images."""

    @abstractmethod
    def differences(self, job: AnyResult, record: Record, arena: Sandbox) -> list[Mismatch]:
        """Play again in this sandbox and return the differences. Raises PlatformFault."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        kind = self.kind.KIND
        parser.add_argument(
            "number", type=int, metavar=kind, help=f"number of the {kind}, as in the address of its page"
        )
        parser.add_argument(
            "--replay-players", action="store_true", help="have the same images play it again, and compare the actions"
        )
        parser.add_argument("--sandbox", choices=("docker", "process"), default="", help="default: SANDBOX")

    def handle(self, *args: Any, **options: Any) -> None:
        job = self._finished(options["number"])
        name = f"{job.KIND.capitalize()} {job.pk}"
        try:
            recheck = self.recheck(job)
        except PlatformFault as fault:
            raise CommandError(f"{name} cannot be checked: {fault}", returncode=NOT_CHECKED) from None
        wrong = {mismatch.number for mismatch in recheck.mismatches}
        for number, ending in self.endings(recheck.record) if recheck.record else ():
            if number not in wrong:
                self.stdout.write(f"{self.part.capitalize()} {number}: ok, {ending}")
        self._list("MISMATCH", recheck.mismatches)
        for line in self.facts(job):
            self.stdout.write(line)
        self.stdout.write(f"sha256 {job.record_sha256 or 'was not kept'}")
        self.stdout.write(f"{'DOES NOT VERIFY' if wrong else 'Verified'}: {job.verification}")
        code = (
            self._replay(job, recheck.record, options["sandbox"]) if options["replay_players"] and recheck.record else 0
        )
        if wrong or code:
            sys.exit(MISMATCH if wrong else code)

    def _finished(self, number: int) -> AnyResult:
        kind = self.kind.KIND
        try:
            job = self.get(number)
        except self.kind.DoesNotExist:
            raise CommandError(f"There is no {kind} {number}.", returncode=NOT_CHECKED) from None
        if job.state != JobState.SUCCEEDED:
            raise CommandError(
                f"{kind.capitalize()} {number} has no result to check: it is {job.get_state_display()}.",
                returncode=NOT_CHECKED,
            )
        return job

    def _replay(self, job: AnyResult, record: Record, name: str) -> int:
        """Play again in the sandbox of this name, print the result, and return the exit code."""
        for who, digest in self.images(job):
            what = f"image {digest}" if digest else "no digest was stored, so the current image plays"
            self.stdout.write(f"{who}: {what}")
        # A signal becomes an exception, so that the players are removed.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            arena = sandbox(name)
            differences = self.differences(job, record, arena)
        except PlatformFault as fault:
            self.stderr.write(f"It cannot be played again: {fault}")
            return NOT_CHECKED
        self._list("DIFFERS", differences)
        verdict = "differs: a player is not deterministic, or the record is wrong" if differences else "the same"
        count = sum(1 for _ in self.endings(record))
        same = count - len({difference.number for difference in differences} - {None})
        self.stdout.write(
            f"Played again, sandbox {arena.name}: {verdict}; {same} of {count} {self.parts} went as recorded."
        )
        return DIFFERS if differences else 0

    def _list(self, word: str, mismatches: list[Mismatch]) -> None:
        for mismatch in mismatches:
            self.stdout.write(f"{word} {mismatch}")
