"""An environment ranked by scores with evaluations on its board, made by hand as workers leave them."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

from django.core.files.base import ContentFile

from arena_kit.environment.episodes import EpisodeRecord, EvaluationRecord
from arena_kit.ranking.scores import summarise_scores
from core.evaluations.selectors import practice_list, ranking_list
from core.jobs.artifacts import evaluation_stored
from core.models import (
    Agent,
    Environment,
    Evaluation,
    JobFault,
    JobState,
    Recording,
    Submission,
    SubmissionForm,
    User,
    Validation,
)
from core.tests import factories
from core.tests.factories import NOON

DIGEST = "sha256:" + "3" * 64
CLAIM = UUID(int=9)
AnyJob = TypeVar("AnyJob", Evaluation, Recording)


def environment(slug: str = "cart-pole", episodes: int = 20) -> Environment:
    """The row of a Gymnasium environment, with lists of so many hidden seeds and the public ones."""
    row = factories.environment(slug)
    ranking = ranking_list(row)
    assert ranking is not None
    ranking.seeds = ranking.seeds[:episodes]
    ranking.save()
    return row


def scores_around(mean: float, count: int, *, spread: float = 40.0, seed: int = 1) -> list[float]:
    noise = random.Random(seed)
    return [round(min(500.0, max(0.0, noise.gauss(mean, spread))), 1) for _ in range(count)]


def submission(
    owner: User, row: Environment, name: str, *, algorithm: str = "Q-learning", form: str = SubmissionForm.PLAYER
) -> Submission:
    """The next version of an agent, built and (for a player) validated."""
    agent = Agent.objects.filter(environment=row, name=name).first() or factories.agent(owner, row, name)
    made = factories.submission(agent)
    made.algorithm, made.form = algorithm, form
    made.save(update_fields=["algorithm", "form"])
    factories.build(made)
    if form == SubmissionForm.PLAYER:
        factories.validation(made)
    # The evaluation follows what it belongs to.
    made.builds.update(created_at=NOON - timedelta(hours=2))
    made.validations.update(created_at=NOON - timedelta(hours=1))
    return made


def evaluation(made: Submission, scores: Sequence[float], state: JobState = JobState.SUCCEEDED) -> Evaluation:
    """An evaluation on the seeds that rank now; with SUCCEEDED it is what its agent stands on the board with."""
    row = made.agent.environment
    ranking = ranking_list(row)
    assert ranking is not None
    fields: dict[str, object] = {
        "environment_version": row.spec_id,
        "episode_count": len(ranking.seeds),
        "episodes_done": len(scores),
        "episodes": [(number, score, int(score) + 1, 0.002 * score) for number, score in enumerate(scores, 1)],
        "created_at": NOON,
    }
    if state == JobState.SUCCEEDED:
        summary = summarise_scores(scores)
        Evaluation.objects.filter(agent=made.agent, is_current=True).update(is_current=False)
        fields |= {
            "score": summary.mean.value,
            "score_low": summary.mean.low,
            "score_high": summary.mean.high,
            "interquartile_mean": summary.interquartile_mean,
            "median": summary.median,
            "worst_decile": summary.worst_decile,
            "seconds_per_move": 0.0021,
            "is_current": True,
            "runtime": "gymnasium 1.4.0, numpy 2.2.0",
            "record_sha256": "5" * 64,
            "player_digest": DIGEST,
        }
    return _job(Evaluation(submission=made, agent=made.agent, environment=row, seed_list=ranking), state, fields)


def script(owner: User, row: Environment, name: str, score: float, metrics: object = ()) -> Evaluation:
    """A script's run, with the score that it printed."""
    made = submission(owner, row, name, algorithm="PPO", form=SubmissionForm.SCRIPT)
    fields = {
        "environment_version": row.spec_id,
        "is_verified": False,
        "is_current": True,
        "score": score,
        "episode_count": 100,
        "episodes_done": 100,
        "metrics": metrics,
        "player_digest": DIGEST,
        "created_at": NOON + timedelta(hours=1),
    }
    return _job(Evaluation(submission=made, agent=made.agent, environment=row), JobState.SUCCEEDED, fields)


def with_files(row: Evaluation, log: str = "saw [0.01, 0.02]\n") -> Evaluation:
    """Store the records and the player's log of an evaluation."""
    seeds = row.seed_list.seeds if row.seed_list else []
    record = _record(row.environment_version, seeds, [float(episode[1]) for episode in row.episodes])
    with evaluation_stored(job=row, record=record if seeds else None, player_log=log, digest=DIGEST) as stored:
        Evaluation.objects.filter(pk=row.pk).update(records=stored.records, player_log=stored.player_log)
    row.refresh_from_db()
    return row


def practised(made: Submission) -> Validation:
    """The latest validation of a submission, with records of what it scored on the public seeds."""
    practice = practice_list(made.agent.environment)
    assert practice is not None
    row = made.validations.get()
    record = _record(row.environment_version, practice.seeds, scores_around(300, len(practice.seeds)))
    with evaluation_stored(job=row, record=record, player_log="hello\n", digest=DIGEST) as stored:
        Validation.objects.filter(pk=row.pk).update(
            records=stored.records, player_1_log=stored.player_log, match_count=len(practice.seeds)
        )
    row.refresh_from_db()
    return row


def recording(
    row: Evaluation,
    choice: Recording.Choice,
    *,
    video: bytes = b"",
    frames: Sequence[str] = (),
    state: JobState = JobState.SUCCEEDED,
    practice: Validation | None = None,
    replay: Mapping[str, object] | None = None,
) -> Recording:
    """A recorded episode, of practice or of the evaluation: of text when it has frames, a WebM when it has bytes."""
    number = list(Recording.Choice).index(choice) + 1
    made = _job(Recording(evaluation=row, practice=practice, choice=choice, episode_number=number), state, {})
    if state == JobState.SUCCEEDED:
        count = len(frames) - 1 if frames else 60
        returns = [float(step) for step in range(count + 1)]
        steps = {"rewards": [1.0] * count, "returns": returns[1:], "video": {"cut": False} if video else None}
        made.steps.save("episode.json", ContentFile(json.dumps(steps).encode()))
        if frames:
            actions = [None, *["right"] * count]
            text = {"frames": list(frames), "actions": actions, "rewards": [0.0] * len(frames), "returns": returns}
            made.text.save("text.json", ContentFile(json.dumps(text).encode()))
        if video:
            made.video.save("episode.webm", ContentFile(video))
            made.poster.save("still.webp", ContentFile(b"RIFF"))
        if replay:
            made.replay_document.save("replay.json.gz", ContentFile(gzip.compress(json.dumps(replay).encode())))
            made.replay_page.save("replay.html.gz", ContentFile(gzip.compress(b"<p>" + json.dumps(replay).encode())))
    return made


def _record(version: str, seeds: Sequence[int], scores: Sequence[float]) -> EvaluationRecord:
    episodes = tuple(
        EpisodeRecord(number=number, seed=seed, actions=(0, 1, 1), score=score, truncated=False, thinking_seconds=0.01)
        for number, (seed, score) in enumerate(zip(seeds, scores, strict=True), start=1)
    )
    return EvaluationRecord(version, "gymnasium 1.4.0", "player", episodes)


def _job(row: AnyJob, state: JobState, fields: dict[str, object]) -> AnyJob:
    row.state = state
    if state != JobState.QUEUED:
        row.attempt, row.worker, row.started_at = 1, "worker-1", NOON
    if state == JobState.RUNNING:
        row.claim_token, row.lease_expires_at = CLAIM, NOON + timedelta(days=36500)
    if row.is_over:
        row.ended_at = NOON + timedelta(seconds=7)
    if state == JobState.FAILED:
        row.fault, row.error_code = JobFault.PLAYER, "player_raised"
        row.error = "Episode 3: The player raised an exception: ValueError: saw [0.01, 0.02]"
        row.public_error = "The player raised an exception."
    for name, value in fields.items():
        setattr(row, name, value)
    row.save()
    if "created_at" in fields:
        type(row)._default_manager.filter(pk=row.pk).update(created_at=fields["created_at"])
    return row
