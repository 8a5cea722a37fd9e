"""The lists of jobs, one for each kind."""

from __future__ import annotations

from django.db.models import JSONField, Q, TextField
from django.urls import reverse

from core.jobs.kinds import JOB_MODELS
from core.jobs.states import OPEN
from core.models import (
    Analysis,
    Build,
    Drill,
    Duel,
    EnvironmentTrial,
    Evaluation,
    Job,
    JobFault,
    JobState,
    PackageBuild,
    Publication,
    Recording,
    Rollout,
    Sitting,
    Submission,
    Validation,
)
from web.organise.sheet import ALL, Column, Sheet

JOB_TITLES = {
    "build": "Builds",
    "validation": "Validations",
    "duel": "Duels",
    "evaluation": "Evaluations",
    "recording": "Recordings",
    "analysis": "Analyses",
    "drill": "Drills",
    "sitting": "Sittings",
    "packagebuild": "Builds of packages",
    "rollout": "Rollouts",
    "publication": "Publications",
    "environmenttrial": "Folders of environments",
}
JOB_SEARCH = {
    "analysis": ("#duel_id", "asked_by__username"),
    "duel": ("#pk", "player_1__agent__name", "player_2__agent__name"),
    "environmenttrial": ("#pk", "slug", "uploaded_by__username"),
    "evaluation": ("#pk", "agent__name", "agent__owner__username", "@submission__public_id"),
    "packagebuild": ("package__environment__slug",),
    "recording": ("#evaluation_id", "evaluation__agent__name"),
    "rollout": ("@public_id", "task__key", "batch__owner__username"),
    "sitting": ("@public_id", "user__username", "submission__agent__name"),
}
OF_VERSIONS = ("submission__agent__name", "submission__agent__owner__username")
JOBS_SHOWN = {
    **ALL,
    "open": ("Waiting or running", Q(state__in=OPEN)),
    "waiting": ("Waiting", Q(state=JobState.QUEUED)),
    "running": ("Running", Q(state=JobState.RUNNING)),
    "failed": ("Failed", Q(state=JobState.FAILED)),
    "arena": ("Failed by the arena’s fault", Q(state=JobState.FAILED, fault=JobFault.PLATFORM)),
    "cancelled": ("Cancelled", Q(state=JobState.CANCELLED)),
}


def long_fields(model: type[Job]) -> list[str]:
    """Return the columns that lists of a kind of job leave in the database: logs, histories, episodes."""

    def names(of: type[Job], before: str = "") -> list[str]:
        fields = (one for one in of._meta.concrete_fields if isinstance(one, TextField | JSONField))
        return [f"{before}{one.name}" for one in fields if before or one.name != "public_error"]

    return [*names(model), *(names(Evaluation, "evaluation__") if model is Recording else ())]


def job_address(job: Job) -> str:
    """Return the organisers' page of a job."""
    return reverse("web:organise_job", args=[job.KIND, job.pk])


def site_page(job: Job) -> str:
    """Return the page on which everybody follows what a job is about."""
    match job:
        case Duel() | Evaluation():
            return reverse(f"web:{job.KIND}", args=[job.pk])
        case Recording():
            return reverse("web:evaluation", args=[job.evaluation_id])
        case Analysis():
            is_sitting = job.duel_id is None
            page = site_page(job.played) if is_sitting else reverse("web:match", args=[job.duel_id, job.match_number])
            return f"{page}#analysis"
        case Sitting() | Rollout():
            return reverse(f"web:{job.KIND}", args=[job.public_id])
        case EnvironmentTrial():
            return reverse("web:environment", args=[job.slug]) if job.environment_id else job_address(job)
        case PackageBuild():
            return reverse("web:environment", args=[job.package.environment.slug])
        case Build() | Validation() | Publication() | Drill():
            return version_page(job.submission)
    raise TypeError(f"{job.KIND} is no kind of job with a page.")


def version_page(submission: Submission) -> str:
    """Return the page of a version."""
    agent = submission.agent
    page = reverse("web:agent", args=[agent.environment.slug, agent.name])
    return f"{page}?version={submission.number}#v{submission.number}"


def _sheet(kind: str, model: type[Job]) -> Sheet:
    return Sheet(
        model=model,
        slug=f"jobs/{kind}",
        title=JOB_TITLES[kind],
        tab="organise_jobs",
        about="Background work of one kind, the newest first.",
        columns=(
            Column("Job", str),
            Column("State", lambda job: job, "job"),
            Column("Trouble", lambda job: job.public_error or job.error_code, "short"),
            Column("Worker", "worker"),
            Column("Attempts", "attempt", "num"),
            Column("Made", "created_at", "moment"),
            Column("Took", lambda job: job, "took"),
        ),
        search=(*JOB_SEARCH.get(kind, OF_VERSIONS), "=error_code", "worker"),
        page=job_address,
        shown=JOBS_SHOWN,
        environment=model.ENVIRONMENT,
        doc="operator/troubleshooting",
        prepare=lambda rows: rows.defer(*long_fields(model)),
    )


JOB_SHEETS = tuple(_sheet(kind, model) for kind, model in JOB_MODELS.items())
