"""Check a finished duel, or have it played again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from arena_kit.environment.records import DuelRecord
from arena_kit.referee.recheck.duels import compare_plays
from arena_kit.referee.recheck.mismatch import Mismatch
from arena_kit.sandbox.base import Sandbox
from core.duels.selectors import duel_get
from core.models import Duel
from duel_runner.recheck.base import Rechecked
from duel_runner.recheck.command import EXIT_CODES, Recheck
from duel_runner.recheck.duels import duel_again, duel_recheck


class DuelRecheck(Recheck[Duel, DuelRecord]):
    help = (
        "Replay every match of a finished duel from its record, compare it with row and ledger, and store the verdict. "
        + EXIT_CODES
    )
    kind = Duel
    part, parts = "match", "matches"

    def get(self, number: int) -> Duel:
        return duel_get(number)

    def recheck(self, job: Duel) -> Rechecked[DuelRecord]:
        return duel_recheck(job)

    def endings(self, record: DuelRecord) -> Iterator[tuple[int, str]]:
        for match in record.matches:
            how = ", ".join(filter(None, [match.outcome.value.lower(), match.error_code]))
            yield match.number, f"{how} in {len(match.actions)} moves"

    def facts(self, job: Duel) -> Sequence[str]:
        return [f"Duel {job.pk}: {job}, {job.environment_version}, seed {job.seed}"]

    def images(self, job: Duel) -> Iterable[tuple[str, str]]:
        return (("Player 1", job.player_1_digest), ("Player 2", job.player_2_digest))

    def differences(self, job: Duel, record: DuelRecord, arena: Sandbox) -> list[Mismatch]:
        return compare_plays(record, duel_again(job, arena))
