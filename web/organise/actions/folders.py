"""Actions on uploaded folders of environments: superusers put them live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django import forms

from core.environments.bringing import environment_bring
from core.environments.differences import folder_differences
from core.errors import Refused
from core.models import Course, Environment, EnvironmentTrial, JobState
from core.people.rights import SUPERUSER
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion

CONSEQUENCE = (
    "From then on its code runs beside the site and the workers, in processes that contain mistakes, not malice. Read "
    "the code first: its trial proves nothing about code that means harm."
)


def _live(trial: EnvironmentTrial, answer: OrganiserAnswer) -> str:
    course, with_limits = answer.more.get("course"), answer.more.get("with_limits", False)
    return f"is live. {environment_bring(trial=trial, by=answer.user, with_limits=with_limits, course=course)}"


def _fields(trials: Sequence[EnvironmentTrial]) -> Mapping[str, forms.Field]:
    """Return the fields of the question: a course where one is new, limits where one is there."""
    known = Environment.objects.filter(slug__in=[one.slug for one in trials]).count()
    found: dict[str, forms.Field] = {}
    if known < len({one.slug for one in trials}):
        found["course"] = forms.ModelChoiceField(
            Course.objects.order_by("name"),
            required=False,
            empty_label="none: everyone sees it",
            label="Course of a new environment",
        )
    if known:
        label = "Limits and match counts of info.yml replace those that are set here"
        found["with_limits"] = forms.BooleanField(required=False, label=label)
    return found


def _differences(trial: EnvironmentTrial) -> Sequence[str]:
    try:
        return folder_differences(trial)
    except Refused as refusal:
        return [str(refusal)]


FOLDER_ACTIONS: tuple[OrganiserAction[EnvironmentTrial], ...] = (
    OrganiserAction(
        name="put_live",
        label="Put live",
        button="Put live",
        do=_live,
        question=OrganiserQuestion(
            title="Put folders live",
            consequence=CONSEQUENCE,
            button="Put live",
            preview=_differences,
            fields=_fields,
        ),
        # One that is live can be put live with its limits.
        fits=lambda trial: trial.state == JobState.SUCCEEDED,
        right=SUPERUSER,
    ),
)
