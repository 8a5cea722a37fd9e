"""Actions on uploaded folders of environments: superusers put them live."""

from __future__ import annotations

from collections.abc import Sequence

from core.environments.bringing import environment_bring, is_live
from core.environments.differences import folder_differences
from core.errors import Refused
from core.models import EnvironmentTrial, JobState
from core.people.rights import SUPERUSER
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion

CONSEQUENCE = (
    "From then on its code runs beside the site and the workers, in processes that contain mistakes, not malice. Read "
    "the code first: its trial proves nothing about code that means harm. Everyone sees a new environment until its "
    "settings give it to a course."
)


def _live(trial: EnvironmentTrial, answer: OrganiserAnswer) -> str:
    return f"is live. {environment_bring(trial=trial, by=answer.user, with_limits=False)}"


def _live_with_limits(trial: EnvironmentTrial, answer: OrganiserAnswer) -> str:
    return f"is live. {environment_bring(trial=trial, by=answer.user, with_limits=True)}"


def _differences(trial: EnvironmentTrial) -> Sequence[str]:
    try:
        return folder_differences(trial)
    except Refused as refusal:
        return [str(refusal)]


FOLDER_ACTIONS: tuple[OrganiserAction[EnvironmentTrial], ...] = (
    OrganiserAction(
        name="put_live",
        label="Put live; limits and match counts that are set here stay",
        button="Put live",
        do=_live,
        question=OrganiserQuestion(
            title="Put folders live",
            consequence=f"{CONSEQUENCE} Limits and match counts that are set here stay.",
            button="Put live",
            preview=_differences,
        ),
        fits=lambda trial: trial.state == JobState.SUCCEEDED and not is_live(trial),
        right=SUPERUSER,
    ),
    OrganiserAction(
        name="put_live_with_limits",
        label="Put live with the limits and match counts of info.yml",
        button="Put live with its limits",
        do=_live_with_limits,
        question=OrganiserQuestion(
            title="Put folders live with their limits",
            consequence=f"{CONSEQUENCE} Limits and match counts of info.yml replace those that are set here.",
            button="Put live with its limits",
            preview=_differences,
        ),
        fits=lambda trial: trial.environment_id is not None and trial.state == JobState.SUCCEEDED,
        right=SUPERUSER,
    ),
)
