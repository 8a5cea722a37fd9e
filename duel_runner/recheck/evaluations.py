"""Checks finished evaluations: record, row and seed list must agree."""

from __future__ import annotations

import time
from collections.abc import Iterator

from arena_kit.environment.episodes import EvaluationRecord, secret_order, seeds_sha256
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.referee import play as referee
from arena_kit.referee.recheck.evaluations import CHECKED, recheck_evaluation
from arena_kit.referee.recheck.mismatch import CannotCheck, Mismatch
from arena_kit.sandbox.base import Sandbox
from core.evaluations.episodes import episodes_open
from core.evaluations.services import episode_row, result_fields
from core.models import Evaluation
from duel_runner.recheck.base import Rechecked, recheck_keep, recheck_sandbox, row_faults
from duel_runner.rules import rules


def evaluation_recheck(evaluation: Evaluation) -> Rechecked[EvaluationRecord]:
    """Check a finished evaluation that the arena played, and store the verdict.

    Raises PlatformFault if it cannot be checked here: the rules are gone, or packages are missing or differ.
    """
    return recheck_keep(evaluation, lambda spec: _look(evaluation, spec))


def evaluation_again(evaluation: Evaluation, arena: Sandbox) -> referee.PlayedEvaluation:
    """Have the player of an evaluation play it again: same image, rules, seeds and order, today's limits.

    Raises PlatformFault, also if the image is no longer on this host.
    """
    environment, submission = evaluation.environment, evaluation.submission
    assert evaluation.seed_list is not None
    with recheck_sandbox(environment, arena) as place:
        return referee.run_evaluation(
            rules(evaluation),
            lambda: place.launch(submission, evaluation.player_digest),
            name=str(submission),
            seeds=evaluation.seed_list.seeds,
            parallel_episodes=environment.parallel_matches,
            limits=environment.limits,
            clock=time.monotonic,
            order=secret_order(evaluation.order_secret, len(evaluation.seed_list.seeds)),
        )


def _look(evaluation: Evaluation, spec: EnvironmentSpec) -> Rechecked[EvaluationRecord]:
    seeds = evaluation.seed_list
    assert seeds is not None
    with episodes_open(evaluation) as archive:
        record = archive.record()
    found = [*_kept_faults(evaluation, record)]
    if seeds_sha256(seeds.seeds) != seeds.sha256:
        found.append(Mismatch(None, "The seeds of its list do not match the published hash."))
    try:
        found += recheck_evaluation(spec, record, seeds=seeds.seeds, sha256=evaluation.record_sha256)
    except CannotCheck:
        # Faults found so far do not depend on the installed packages.
        if not found:
            raise
    return Rechecked(
        record,
        found,
        f"{len(record.episodes)} episodes were played again from their seeds and actions: {CHECKED}. "
        "Hash, result and list of seeds agree.",
    )


def _kept_faults(evaluation: Evaluation, record: EvaluationRecord) -> Iterator[Mismatch]:
    """Return sentences on values of the evaluation's row that differ from its record."""
    rows = [episode_row(episode) for episode in record.episodes]
    result = result_fields(rows) if rows else {}
    yield from row_faults(evaluation, {"episode_count": len(rows), "runtime": record.runtime, **result})
