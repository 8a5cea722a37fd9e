"""Which environments can be played on this arena: known at start, refused at upload, and told to organisers."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.contrib.staticfiles import finders

from arena_kit.environment.availability import Trouble
from arena_kit.environment.registry import LeftOut
from arena_kit.environment.spec import EnvironmentSpec
from core.errors import Refused
from core.jobs.lifecycle import job_fail
from core.links import page
from core.models import Environment, Job, JobFault
from core.operations.alarms import alarm_raise, alarm_settle

LEFT_OUT_ALARM = "environments-left-out"
UNAVAILABLE_CODE = "environment_unavailable"
DEFAULT_PICTURE = "environments/gymnasium/gymnasium.svg"
"""What is shown of an environment whose picture is not among the files of the site."""


def unavailable_sentence(environment: Environment) -> str:
    """What everybody is told; how to mend it is for organisers."""
    return f"{environment} is not available on this arena at the moment: the organisers know."


def refuse_unavailable(environment: Environment) -> None:
    """Raise Refused for an upload that could never be played."""
    if not environment.is_available:
        raise Refused(unavailable_sentence(environment), field="archive", code=UNAVAILABLE_CODE)


def availability_note(*, environment: Environment, trouble: Trouble | None) -> None:
    """Write down whether an environment can be made. That it no longer can where agents play is an alarm."""
    because = "" if trouble is None else f"{trouble.because} {trouble.hint}".strip()
    was_available = environment.is_available
    environment.unavailable_because = because
    Environment.objects.filter(pk=environment.pk).update(unavailable_because=because)
    if not because:
        alarm_settle(key=_alarm_key(environment))
    elif was_available and environment.agents.exists():
        _call(environment)


def environment_lost(*, job: Job, environment: Environment, trouble: Trouble, log: str) -> None:
    """End a job whose environment its worker cannot make: trying again would not help. Calls the organisers."""
    because = f"{trouble.because} {trouble.hint}".strip()
    Environment.objects.filter(pk=environment.pk).update(unavailable_because=because)
    environment.unavailable_because = because
    _call(environment)
    sentence = unavailable_sentence(environment)
    job_fail(job=job, fault=JobFault.PLATFORM, code=UNAVAILABLE_CODE, error=sentence, log=log)


def left_out_note(*, files: tuple[LeftOut, ...], broken: Mapping[str, Trouble]) -> list[str]:
    """Call the organisers about environments of their own that are left out; return a sentence for each."""
    sentences = [one.because for one in files] + [trouble.because for trouble in broken.values()]
    if sentences:
        listed = " ".join(sentences)
        message = f"Of {settings.ENVIRONMENTS_DIR} this is left out: {listed} Mend it and run `sync_environments`."
        alarm_raise(key=LEFT_OUT_ALARM, message=message)
    else:
        alarm_settle(key=LEFT_OUT_ALARM)
    return sentences


def picture_of(spec: EnvironmentSpec) -> str:
    """The static path of an environment's card picture, or of the one that stands for all without one."""
    try:
        picture = spec.picture
    except Exception:
        # The folder of broken code cannot be found; why is told where it is tried.
        return DEFAULT_PICTURE
    return picture if finders.find(picture) else DEFAULT_PICTURE


def _alarm_key(environment: Environment) -> str:
    return f"environment-{environment.slug}-unavailable"


def _call(environment: Environment) -> None:
    alarm_raise(
        key=_alarm_key(environment),
        message=f"{environment} cannot be played on this arena. {environment.unavailable_because}",
        address=page("environment_admin", environment.pk),
    )
