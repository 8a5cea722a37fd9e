"""The tabs of an environment beside its board: the rules, and how to write and upload an agent."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from core.evaluations.episodes import spec_or_none
from core.evaluations.selectors import practice_list, ranking_list, revealed_lists
from core.models import Agent, Environment, User
from core.rollouts.reading import newest_package
from web.environments.parts import writing_parts
from web.submissions.forms import AgentForm, agent_form


def rules(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what is played: the description, the limits, and the seeds or the package."""
    row = get_object_or_404(Environment, slug=slug)
    spec = spec_or_none(row.spec_id)
    context = {
        "environment": row,
        "has_rules": spec is not None,
        "solved": spec.solved_score if spec else None,
        "package": newest_package(row) if row.is_app else None,
    }
    if row.is_scored and not row.is_app:
        context |= {"ranking": ranking_list(row), "practice": practice_list(row), "revealed": revealed_lists(row)}
    return render(request, "web/environments/rules.html", context)


def write(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how to write an agent, and the form that uploads it."""
    row = get_object_or_404(Environment, slug=slug)
    return write_page(request, row, upload_form(request, row))


def upload_form(request: HttpRequest, row: Environment, *sent: Any) -> AgentForm:
    """Return the form for a new agent, or for a new version of one of the viewer's. sent: what a POST sent."""
    viewer = request.user
    own = viewer.agents.filter(environment=row).order_by("name") if isinstance(viewer, User) else Agent.objects.none()
    return agent_form(row)(*sent, own=list(own.values_list("name", flat=True)))


def write_page(request: HttpRequest, row: Environment, form: AgentForm, status: int = 200) -> HttpResponse:
    """Render that page with a form that may have been refused."""
    context = writing_parts(request.user, row, form)
    return render(request, "web/environments/write.html", context, status=status)
