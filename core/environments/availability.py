"""Which environments can be played on this arena: determined at start, enforced at upload, told to organisers.

Duels that wait for an environment that is not available are delayed, not lost: they go on when it is available again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.conf import settings
from django.contrib.staticfiles import finders
from django.db import transaction
from django.db.models import QuerySet

from arena_kit.environment.availability import Unavailability
from arena_kit.environment.outside.pictures import picture_note
from arena_kit.environment.registry import LeftOut
from arena_kit.environment.spec import EnvironmentSpec
from core.duels.pausing import job_give_back_unbegun
from core.environments.holding import duels_try_again, failing_key
from core.errors import Refused
from core.jobs.control import job_cancel_if_open
from core.jobs.hosts import worker_name
from core.jobs.lifecycle import from_now, job_fail, jobs_go_on
from core.jobs.states import OPEN, wait_until
from core.jobs.waits import UNAVAILABLE_CODE
from core.links import page
from core.models import Alarm, CancelCode, Duel, Environment, Evaluation, Job, JobFault, JobState
from core.notices.alarms import alarm_raise, alarm_settle

LEFT_OUT_ALARM = "environments-left-out"
RETIRED = "Its code is no longer part of this arena."
PAUSE = timedelta(minutes=5)
"""How long a job whose environment is not available is delayed before a worker looks again."""
DEFAULT_PICTURE = "environments/gymnasium/gymnasium.svg"
"""The picture of an environment whose own picture is not among the static files of the site."""


def refuse_unavailable(environment: Environment) -> None:
    """Raise Refused for an upload to an environment that cannot be played here."""
    if not environment.is_available:
        raise Refused(environment.unavailable_sentence, field="archive", code=UNAVAILABLE_CODE)


def trouble_in_pods(environment: Environment, spec: EnvironmentSpec) -> Unavailability | None:
    """Return why an environment cannot be played where players run in pods of a cluster, or None."""
    if settings.SANDBOX != "kubernetes":
        return None
    if spec.runs_apart:
        because = "Its rules are in a folder of yours, which the pods of a cluster do not have."
    elif spec.isolation == "apart":
        because = "Its players must not reach each other, and those of a pod might."
    elif not environment.takes_players:
        because = "It takes scripts only, which are not run in pods."
    else:
        return None
    return Unavailability(f"{spec.slug}: {because}", hint="Use SANDBOX=docker, see docs/operator/kubernetes.md.")


def availability_note(*, environment: Environment, trouble: Unavailability | None) -> None:
    """Store whether an environment can be made. Losing one that has agents raises an alarm."""
    because = "" if trouble is None else f"{trouble.because} {trouble.hint}".strip()
    was_available = environment.is_available
    environment.unavailable_because = because
    Environment.objects.filter(pk=environment.pk).update(unavailable_because=because)
    # From now on the state of the whole site counts.
    unmakeable_settle(environment=environment)
    if because:
        duels_delay(environment=environment)
    else:
        _jobs_resume(environment)
        duels_try_again(environment=environment)
        alarm_settle(key=_alarm_key(environment))
    if because and was_available and environment.agents.exists():
        _call(environment)


def environment_retire(*, environment: Environment) -> int:
    """Close an environment whose code was removed, and cancel its open duels; return how many.

    Can be done again, e.g. after it was interrupted. A cancelled duel changes no standing, so a running edition ends
    with what has been played.
    """
    environment.is_active, environment.unavailable_because = False, RETIRED
    with transaction.atomic():
        environment.save(update_fields=["is_active", "unavailable_because"])
        unmakeable_settle(environment=environment)
        alarm_settle(key=_alarm_key(environment))
        alarm_settle(key=failing_key(environment))
    reason = f"{environment} is no longer part of this arena."
    return sum(
        job_cancel_if_open(job=duel, code=CancelCode.ENVIRONMENT_RETIRED, reason=reason)
        for duel in _duels(environment).filter(state__in=OPEN).order_by("pk")
    )


def duels_delay(*, environment: Environment) -> int:
    """Delay the waiting duels of an environment that is not available; return how many. No attempt is counted."""
    moment, error = from_now(PAUSE), environment.unavailable_sentence
    return wait_until(_duels(environment), moment=moment, code=UNAVAILABLE_CODE, error=error)


def job_delay_unavailable(*, job: Duel | Evaluation, environment: Environment, log: str) -> None:
    """Give a running job back because its environment is not available, and delay the duels of the environment."""
    job_give_back_unbegun(job=job, span=PAUSE, code=UNAVAILABLE_CODE, error=environment.unavailable_sentence, log=log)
    # One look of one worker is enough for all of them.
    duels_delay(environment=environment)


def _duels(environment: Environment) -> QuerySet[Duel]:
    return Duel.objects.filter(**{Duel.ENVIRONMENT: environment})


def _jobs_resume(environment: Environment) -> None:
    for jobs in (_duels(environment), Evaluation.every.filter(environment=environment)):
        jobs_go_on(jobs.filter(state=JobState.QUEUED, error_code=UNAVAILABLE_CODE))


def job_fail_unavailable(*, job: Job, environment: Environment, log: str) -> None:
    """Fail a job without another attempt because its environment is not available on the whole site."""
    error = environment.unavailable_sentence
    job_fail(job=job, fault=JobFault.PLATFORM, code=UNAVAILABLE_CODE, error=error, log=log)


def unmakeable_note(*, environment: Environment, trouble: Unavailability) -> None:
    """Raise an alarm about this worker, which cannot make an environment that the site takes for available."""
    worker = worker_name()
    alarm_raise(
        key=_unmakeable_key(environment),
        message=f"The worker {worker} cannot make {environment} and leaves its jobs to other workers. "
        f"{trouble.because} {trouble.hint} If all workers are affected, run `sync_environments`.",
        address=page("workers"),
        worker=worker,
    )


def unmakeable_remind(*, environment: Environment, trouble: Unavailability) -> None:
    """Raise the alarm again if it was settled, e.g. at the end of another worker with the same trouble."""
    if not Alarm.objects.filter(key=_unmakeable_key(environment), settled_at=None).exists():
        unmakeable_note(environment=environment, trouble=trouble)


def unmakeable_settle(*, environment: Environment) -> None:
    """Settle the alarm about a worker that could not make an environment."""
    alarm_settle(key=_unmakeable_key(environment))


def left_out_note(*, files: tuple[LeftOut, ...], broken: Mapping[str, Unavailability]) -> list[str]:
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
        return DEFAULT_PICTURE if picture_note(spec.file.parent, spec.image) else f"{settings.STATIC_URL}{spec.picture}"
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
        address=page("environment_settings", environment.pk),
    )


def environment_missing_list() -> list[Environment]:
    """Return the active environments that this arena cannot play, by name."""
    return list(Environment.objects.filter(is_active=True).exclude(unavailable_because="").order_by("name"))
