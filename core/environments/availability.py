"""Which environments can be played on this arena: determined at start, enforced at upload, told to organisers."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.contrib.staticfiles import finders

from arena_kit.environment.availability import Trouble
from arena_kit.environment.outside.pictures import picture_note
from arena_kit.environment.registry import LeftOut
from arena_kit.environment.spec import EnvironmentSpec
from core.errors import Refused
from core.jobs.lifecycle import job_fail
from core.links import page
from core.models import Environment, Job, JobFault
from core.notices.alarms import alarm_raise, alarm_settle

LEFT_OUT_ALARM = "environments-left-out"
UNAVAILABLE_CODE = "environment_unavailable"
DEFAULT_PICTURE = "environments/gymnasium/gymnasium.svg"
"""The picture of an environment whose own picture is not among the static files of the site."""


def refuse_unavailable(environment: Environment) -> None:
    """Raise Refused for an upload to an environment that cannot be played here."""
    if not environment.is_available:
        raise Refused(environment.unavailable_sentence, field="archive", code=UNAVAILABLE_CODE)


def availability_note(*, environment: Environment, trouble: Trouble | None) -> None:
    """Store whether an environment can be made. Losing one that has agents raises an alarm."""
    because = "" if trouble is None else f"{trouble.because} {trouble.hint}".strip()
    was_available = environment.is_available
    environment.unavailable_because = because
    Environment.objects.filter(pk=environment.pk).update(unavailable_because=because)
    # From now on the state of the whole site counts.
    unmakeable_settle(environment=environment)
    if not because:
        alarm_settle(key=_alarm_key(environment))
    elif was_available and environment.agents.exists():
        _call(environment)


def job_fail_unavailable(*, job: Job, environment: Environment, log: str) -> None:
    """Fail a job without another attempt because its environment is not available on the whole site."""
    error = environment.unavailable_sentence
    job_fail(job=job, fault=JobFault.PLATFORM, code=UNAVAILABLE_CODE, error=error, log=log)


def unmakeable_note(*, environment: Environment, trouble: Trouble) -> None:
    """Raise an alarm about a worker that cannot make an environment which the site takes for available."""
    alarm_raise(
        key=_unmakeable_key(environment),
        message=f"A worker cannot make {environment} and leaves its jobs to other workers. {trouble.because} "
        f"{trouble.hint} If all workers are affected, run `sync_environments`.",
        address=page("workers_admin"),
    )


def unmakeable_settle(*, environment: Environment) -> None:
    """Settle the alarm about a worker that could not make an environment."""
    alarm_settle(key=_unmakeable_key(environment))


def left_out_note(*, files: tuple[LeftOut, ...], broken: Mapping[str, Trouble]) -> list[str]:
    """Raise an alarm about the organisers' environments that are left out; return a sentence for each."""
    sentences = [one.because for one in files] + [trouble.because for trouble in broken.values()]
    if sentences:
        listed = " ".join(sentences)
        folder = settings.ENVIRONMENTS_DIR
        message = f"Some environments in {folder} are left out: {listed} Fix them and run `sync_environments`."
        alarm_raise(key=LEFT_OUT_ALARM, message=message)
    else:
        alarm_settle(key=LEFT_OUT_ALARM)
    return sentences


def picture_of(spec: EnvironmentSpec) -> str:
    """Return the static path of an environment's card picture, or of the default picture.

    The path of one from outside is absolute: the site serves that file itself.
    """
    if spec.is_outside:
        return DEFAULT_PICTURE if picture_note(spec.folder, spec.image) else f"{settings.STATIC_URL}{spec.picture}"
    picture = spec.picture
    return picture if finders.find(picture) else DEFAULT_PICTURE


def _alarm_key(environment: Environment) -> str:
    return f"environment-{environment.slug}-unavailable"


def _unmakeable_key(environment: Environment) -> str:
    return f"environment-{environment.slug}-unmakeable"


def _call(environment: Environment) -> None:
    alarm_raise(
        key=_alarm_key(environment),
        message=f"{environment} cannot be played on this arena. {environment.unavailable_because}",
        address=page("environment_admin", environment.pk),
    )
