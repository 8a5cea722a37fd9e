"""Check a finished evaluation, or have it played again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from django.core.management.base import CommandError

from arena_kit.environment.episodes import EvaluationRecord
from arena_kit.referee.recheck.evaluations import compare_episodes
from arena_kit.referee.recheck.mismatch import Mismatch
from arena_kit.sandbox.base import Sandbox
from core.models import Evaluation
from duel_runner.recheck.base import Rechecked
from duel_runner.recheck.command import EXIT_CODES, NOT_CHECKED, Recheck
from duel_runner.recheck.evaluations import evaluation_again, evaluation_recheck


class EvaluationRecheck(Recheck[Evaluation, EvaluationRecord]):
    help = (
        "Replay every episode of a finished evaluation from its record, compare it with row and seed list, and store "
        "the verdict. " + EXIT_CODES
    )
    kind = Evaluation
    part, parts = "episode", "episodes"

    def get(self, number: int) -> Evaluation:
        # Runs of programs may have fewer episodes than their list has seeds.
        evaluation = Evaluation.every.select_related(*Evaluation.RELATED).filter(run=None).get(pk=number)
        if not evaluation.is_verified:
            raise CommandError(
                f"Evaluation {number} is a run of a script, which reports its score itself: there is no record of it "
                "to check.",
                returncode=NOT_CHECKED,
            )
        return evaluation

    def recheck(self, job: Evaluation) -> Rechecked[EvaluationRecord]:
        return evaluation_recheck(job)

    def endings(self, record: EvaluationRecord) -> Iterator[tuple[int, str]]:
        for episode in record.episodes:
            yield episode.number, f"{episode.score:g} in {episode.length} steps"

    def facts(self, job: Evaluation) -> Sequence[str]:
        return [
            f"Evaluation {job.pk}: {job}, {job.environment_version}, {job.runtime or 'no packages'}",
            f"Score {job.score!r}",
        ]

    def images(self, job: Evaluation) -> Iterable[tuple[str, str]]:
        return (("Player", job.player_digest),)

    def differences(self, job: Evaluation, record: EvaluationRecord, arena: Sandbox) -> list[Mismatch]:
        again = evaluation_again(job, arena)
        differences = compare_episodes(record, again.record)
        if again.failure is not None:
            differences.insert(0, Mismatch(None, f"The player failed this time: {again.failure.sentence}"))
        return differences
