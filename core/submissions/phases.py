"""The phases of a submission: build, then validation, then (for public agents) publication."""

from __future__ import annotations

from dataclasses import asdict

from django.db import transaction

from core.duels.blunders import drill_begin
from core.environments.renewal import validation_begin
from core.evaluations.services import evaluation_create, evaluation_ensure
from core.jobs.artifacts import DuelArtifacts
from core.jobs.lifecycle import job_fail, job_succeed
from core.jobs.locks import agent_lock
from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.jobs.written import written_once
from core.models import Agent, Build, JobFault, JobState, Submission, SubmissionForm, Validation
from core.rollouts.batches import ranking_begin
from core.submissions.notices import version_validated
from core.submissions.promotions import promotion_begin
from core.submissions.publishing import publication_begin
from core.submissions.trials import MATCHES


@written_once
def build_succeed(
    *,
    build: Build,
    image: str,
    digest: str,
    warnings: list[str],
    log: str,
    registry_digest: str = "",
    base_image: str = "",
    base_digest: str = "",
    requirements_digest: str = "",
    sbom: str = "",
) -> None:
    """Store the image and start what comes next: the validation, the run of a script, or the tasks of an application.

    Raises StaleJob.

    registry_digest: of its manifest in the registry, if there is one. base_image: its name and Python. base_digest,
    requirements_digest: of the image's lower layers. sbom: name of the stored bill of materials.
    """
    submission = build.submission
    environment = submission.agent.environment
    with transaction.atomic():
        # The agent first: a deletion locks it before it cancels this build.
        agent_lock(submission.agent_id)
        job_succeed(
            job=build,
            log=log,
            base_image=base_image,
            base_digest=base_digest,
            requirements_digest=requirements_digest,
            sbom=sbom,
        )
        submission.image, submission.image_digest, submission.warnings = image, digest, warnings
        submission.image_removed_at, submission.registry_digest = None, registry_digest
        # What runs in such an image before the player is its own, so nothing of it outlasts a duel.
        submission.needs_fresh_container |= submission.form == SubmissionForm.IMAGE
        submission.save(
            update_fields=[
                "image",
                "image_digest",
                "registry_digest",
                "image_removed_at",
                "warnings",
                "needs_fresh_container",
            ]
        )
        if environment.is_app:
            # There is no duel with itself: the first rollouts show whether it works.
            publication_begin(submission)
            ranking_begin(submission=submission)
            return
        if submission.form == SubmissionForm.SCRIPT and submission.is_trial:
            return
        if submission.form == SubmissionForm.SCRIPT:
            publication_begin(submission)
            evaluation_create(submission=submission)
            return
        # The rules may have changed during the build.
        environment.refresh_from_db(fields=["version"])
        validation_begin(
            submission=submission,
            environment=environment,
            match_count=MATCHES if submission.trial_opponent_id else 0,
        )


@written_once
def validation_succeed(*, validation: Validation, artifacts: DuelArtifacts, log: str) -> None:
    """Let a validated submission play, unless it is tested first. Raises StaleJob when the claim was lost."""
    submission = validation.submission
    with transaction.atomic():
        # Read under the lock, because the agent may have been quarantined since the validation began.
        agent = agent_lock(submission.agent_id)
        job_succeed(job=validation, log=log, **asdict(artifacts))
        submission.save(update_fields=["needs_fresh_container", "warnings"])
        if submission.is_trial:
            return
        submission.refresh_from_db(fields=["is_benched"])
        publication_begin(submission)
        if agent.environment.is_scored:
            version_validated(submission)
            evaluation_ensure(submission=submission)
            return
        drill_begin(submission=submission)
        promotion = promotion_begin(agent=agent, submission=submission)
        if not _was_validated(validation):
            version_validated(submission, promotion)
        _quarantine_end(submission)
        task_request("tournament", TOURNAMENT_TASK, agent.environment_id)


def _was_validated(validation: Validation) -> bool:
    """Return whether a version was validated by earlier rules, so that its owner need not hear of it again."""
    before = validation.submission.validations.filter(state=JobState.SUCCEEDED)
    return before.exclude(environment_version=validation.environment_version).exists()


def _quarantine_end(submission: Submission) -> None:
    """End the quarantine of a locked agent if this version is newer than the one that crashed."""
    rows = Agent.objects.filter(pk=submission.agent_id, quarantined_number__lt=submission.number)
    rows.update(is_disabled=False, disabled_reason="", quarantined_at=None, quarantined_number=None)


@written_once
def validation_fail(*, validation: Validation, artifacts: DuelArtifacts, code: str, error: str, log: str) -> None:
    """Fail a validation by the submission's own fault."""
    with transaction.atomic():
        job_fail(job=validation, fault=JobFault.PLAYER, code=code, error=error, log=log, **asdict(artifacts))
