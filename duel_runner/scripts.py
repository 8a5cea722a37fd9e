"""Script submissions: run once, and ranked by the score that they report themselves."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.db import close_old_connections

from arena_kit.referee.script import ScriptFailure, run_script
from arena_kit.sandbox.scripts import ScriptLaunch, ScriptLimits
from core.evaluations.services import evaluation_fail, script_succeed
from core.jobs.artifacts import evaluation_stored
from core.jobs.lease import Lease
from core.jobs.log import log_stage
from core.models import Evaluation
from duel_runner.rules import rules
from duel_runner.workplace import workplace_of_this_worker

SHOWN_CHARACTERS = 4000
"""Length of the output that the page shows while the script runs."""


def evaluate_script(evaluation: Evaluation, lease: Lease) -> None:
    """Run a script and store the score that it prints, or why it has none."""
    submission = evaluation.submission

    def on_output(printed: str) -> None:
        lease.raise_if_lost()
        lease.show(printed[-SHOWN_CHARACTERS:])

    workplace = workplace_of_this_worker()
    launch = ScriptLaunch(
        image=submission.launched_image,
        name=workplace.name(),
        environment_id=_argument(evaluation),
        limits=ScriptLimits(**settings.SCRIPT_LIMITS),
        labels=workplace.labels(submission),
    )
    log_stage("run")
    lease.log(f"{submission}: python -u submission.py {launch.environment_id}, sandbox {workplace.sandbox.name}.")
    run = run_script(workplace.sandbox, launch, on_output=on_output)
    log_stage("store")
    close_old_connections()
    lease.show("")
    lease.log(f"It ran for {run.end.wall_seconds:.1f} s.")
    with evaluation_stored(
        job=evaluation, record=None, player_log=run.end.log, digest=submission.image_digest
    ) as artifacts:
        if isinstance(run.verdict, ScriptFailure):
            evaluation_fail(
                evaluation=evaluation,
                episodes=[],
                artifacts=artifacts,
                code=run.verdict.code.value,
                error=run.verdict.error,
                log=lease.text,
            )
            return
        metrics = run.verdict.metrics or ()
        script_succeed(
            evaluation=evaluation,
            score=run.verdict.score,
            metrics=dict(metrics) if isinstance(metrics, Mapping) else list(metrics),
            episode_count=run.verdict.episodes or 0,
            artifacts=artifacts,
            log=lease.text,
        )


def _argument(evaluation: Evaluation) -> str:
    """Return the environment's id in the script's own Gymnasium; clients may know the environment by an older id."""
    source = rules(evaluation).gymnasium
    return evaluation.environment.env_id if source is None else source.id
