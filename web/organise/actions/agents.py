"""Actions on agents and their versions: disable, let rest, build again, evaluate again, delete the archive."""

from __future__ import annotations

from core.errors import Refused
from core.evaluations.services import evaluation_again
from core.models import Agent, Submission
from core.moderation.services import agent_disable, agent_enable
from core.submissions.existing import submission_delete, submission_rebuild
from core.tournaments.ladders import agent_rest
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion


def _disable(agent: Agent, answer: OrganiserAnswer) -> str:
    agent_disable(agent=agent, reason=answer.reason)
    return "is disabled."


def _enable(agent: Agent, answer: OrganiserAnswer) -> str:
    if not agent.is_disabled:
        raise Refused("The agent is not disabled.")
    agent_enable(agent=agent)
    return "is enabled."


def build_again(submission: Submission) -> str:
    """Start a new build beside the old ones. Raises Refused or StaleJob."""
    build = submission_rebuild(submission=submission)
    return f"is built and validated again as build {build.pk}."


def evaluate_again(submission: Submission) -> str:
    """Start a new evaluation beside the old ones. Raises Refused."""
    return f"is evaluated again as evaluation {evaluation_again(submission=submission).pk}."


def _build(submission: Submission, answer: OrganiserAnswer) -> str:
    return build_again(submission)


def _evaluate(submission: Submission, answer: OrganiserAnswer) -> str:
    return evaluate_again(submission)


def _let_rest(agent: Agent, answer: OrganiserAnswer) -> str:
    if agent.is_resting:
        raise Refused("The agent is hidden already.")
    agent_rest(agent=agent, is_resting=True)
    return "is hidden and takes part in nothing new."


def _let_play(agent: Agent, answer: OrganiserAnswer) -> str:
    if not agent.is_resting:
        raise Refused("The agent is not hidden.")
    agent_rest(agent=agent, is_resting=False)
    return "is playing again."


def _delete_archive(submission: Submission, answer: OrganiserAnswer) -> str:
    if submission.deleted_at is not None:
        raise Refused("The archive is already deleted.")
    submission_delete(submission=submission)
    return "is deleted; its results stay."


def _exists(submission: Submission) -> bool:
    return submission.deleted_at is None


def _build_newest(agent: Agent, answer: OrganiserAnswer) -> str:
    newest = agent.submissions.filter(deleted_at=None).order_by("-number").first()
    if newest is None:
        raise Refused("It has no version with an archive.")
    build = submission_rebuild(submission=newest)
    return f"has version {newest.number} built and validated again as build {build.pk}."


DISABLE = OrganiserAction(
    name="disable",
    label="Disable, with a reason",
    button="Disable",
    do=_disable,
    question=OrganiserQuestion(
        title="Disable agents",
        consequence="From now on the agents get no new versions and play nothing. Their unfinished jobs are cancelled. "
        "They are withdrawn from running editions, where their duels no longer count for either side. Other results "
        "stay.",
        button="Disable",
        reason="Reason, shown on the agent's page",
    ),
    fits=lambda agent: not agent.is_disabled,
)
ENABLE = OrganiserAction(
    name="enable",
    label="Enable (also ends a quarantine)",
    button="Enable",
    do=_enable,
    fits=lambda agent: agent.is_disabled,
)
BUILD_NEWEST = OrganiserAction(
    name="build_again",
    label="Build and validate the newest version again",
    button="Build again",
    do=_build_newest,
    fits=lambda agent: not agent.is_disabled,
)
LET_REST = OrganiserAction(
    name="let_rest",
    label="Hide: it takes part in nothing new and is in no list",
    button="Hide",
    do=_let_rest,
    fits=lambda agent: not agent.is_resting,
)
LET_PLAY = OrganiserAction(
    name="let_play",
    label="Show it and let it play again",
    button="Show again",
    do=_let_play,
    fits=lambda agent: agent.is_resting,
)
AGENT_ACTIONS = (DISABLE, ENABLE, BUILD_NEWEST, LET_REST, LET_PLAY)

BUILD = OrganiserAction(
    name="run_again",
    label="Build and validate again",
    button="Build again",
    do=_build,
    fits=_exists,
)
EVALUATE = OrganiserAction(
    name="evaluate_again",
    label="Evaluate again (environments ranked by scores)",
    button="Evaluate again",
    do=_evaluate,
    fits=lambda submission: _exists(submission) and submission.agent.environment.is_scored,
)
DELETE_ARCHIVE = OrganiserAction(
    name="delete_archives",
    label="Delete archives and images (results stay)",
    button="Delete the archive",
    do=_delete_archive,
    question=OrganiserQuestion(
        title="Delete archives",
        consequence="The archives and images are removed for good, and these versions play no more. Their results "
        "stay.",
        button="Delete the archives",
    ),
    fits=_exists,
)
VERSION_ACTIONS = (BUILD, EVALUATE, DELETE_ARCHIVE)
