"""Evaluations for tests of boards, made the short way."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import count

from core.evaluations.board import BoardFilter, BoardPage, board_page
from core.evaluations.selectors import ranking_list
from core.models import Environment, Evaluation, JobState, SeedList, SubmissionForm, User
from core.tests import factories
from core.tests.factories import NOON

_names = count(1)


def evaluation(
    environment: Environment,
    score: float,
    *,
    owner: User,
    name: str = "",
    is_verified: bool = True,
    at: datetime = NOON,
    algorithm: str = "",
    user_label: str = "",
    scores: Sequence[float] = (),
    seed_list: SeedList | None = None,
    is_current: bool = True,
) -> Evaluation:
    """What a new agent stands on the board with. scores: of its episodes."""
    submission = factories.submission(factories.agent(owner, environment, name or f"on-board-{next(_names)}"))
    submission.algorithm, submission.user_label = algorithm, user_label
    submission.form = SubmissionForm.PLAYER if is_verified else SubmissionForm.SCRIPT
    submission.save()
    row = Evaluation.objects.create(
        submission=submission,
        agent=submission.agent,
        environment=environment,
        environment_version=environment.spec_id,
        seed_list=(seed_list or ranking_list(environment)) if is_verified else None,
        is_verified=is_verified,
        is_current=is_current,
        state=JobState.SUCCEEDED,
        ended_at=at,
        score=score,
        episodes=[(number, value, 10, 0.01) for number, value in enumerate(scores, start=1)],
    )
    Evaluation.objects.filter(pk=row.pk).update(created_at=at)
    row.refresh_from_db()
    return row


def agents(page: BoardPage) -> list[str]:
    return [row.agent for row in page.rows]


def shown(environment: Environment, **filters: object) -> list[str]:
    """The agents that a filter lets through, as listed."""
    return agents(board_page(environment, BoardFilter(**filters)))  # type: ignore[arg-type]  # the test names them
