"""A tag for a job's failed attempts."""

from __future__ import annotations

from django import template
from django.template.context import Context

from core.jobs.selectors import JobAttempt, attempts_of
from core.models import Job
from core.submissions.visibility import job_log_visible

register = template.Library()


@register.simple_tag(takes_context=True)
def attempts(context: Context, job: Job | None) -> list[JobAttempt]:
    """Return the failed attempts of a job if the viewer may read its log, else none."""
    return attempts_of(job) if job is not None and job.history and job_log_visible(job, context["user"]) else []
