"""Agents: upload, versions, status."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from core.errors import Refused
from core.models import Agent, Environment, User
from core.selectors.agents import agent_get, agent_source_visible, submission_list
from core.selectors.tournaments import tournament_latest
from core.services import agents as services
from web.forms import AgentForm, ArchiveForm, refuse
from web.views.environments import page


@require_POST
@login_required
def agent_create(request: HttpRequest, slug: str) -> HttpResponse:
    """Upload a new agent."""
    assert isinstance(request.user, User)
    environment = get_object_or_404(Environment, slug=slug)
    form = AgentForm(request.POST, request.FILES)
    if form.is_valid():
        data = form.cleaned_data
        try:
            submission = services.agent_create(
                owner=request.user,
                environment=environment,
                name=data["name"],
                is_public=data["is_public"],
                archive=data["archive"],
            )
        except Refused as refusal:
            refuse(form, refusal)
        else:
            return redirect("web:agent", environment.slug, submission.agent.name)
    return page(request, environment, tournament_latest(environment), form, status=422)


def agent(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Every submission of an agent with its phases."""
    return _page(request, _get(slug, name), ArchiveForm())


@require_POST
@login_required
def submission_create(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Upload a new version; for the owner alone."""
    row = _get_own(request, slug, name)
    form = ArchiveForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            services.submission_create(agent=row, archive=form.cleaned_data["archive"])
        except Refused as refusal:
            refuse(form, refusal)
        else:
            return redirect("web:agent", slug, row.name)
    return _page(request, row, form, status=422)


@require_POST
@login_required
def submission_delete(request: HttpRequest, slug: str, name: str, number: int) -> HttpResponse:
    """Delete a version's archive and image; its results stay."""
    row = _get_own(request, slug, name)
    submission = get_object_or_404(row.submissions.filter(deleted_at=None), number=number)
    services.submission_delete(submission=submission)
    messages.success(request, f"Version {number} is deleted; its results stay.")
    return redirect("web:agent", slug, row.name)


def _get(slug: str, name: str) -> Agent:
    try:
        return agent_get(slug, name)
    except Agent.DoesNotExist:
        raise Http404("There is no such agent in this environment.") from None


def _get_own(request: HttpRequest, slug: str, name: str) -> Agent:
    row = _get(slug, name)
    if row.owner_id != request.user.pk:
        raise PermissionDenied("Only the owner of an agent may change it.")
    return row


def _page(request: HttpRequest, row: Agent, form: ArchiveForm, status: int = 200) -> HttpResponse:
    submissions = list(submission_list(row))
    assert request.user.is_anonymous or isinstance(request.user, User)
    context = {
        "agent": row,
        "environment": row.environment,
        "submissions": submissions,
        "form": form,
        "is_owner": row.owner_id == request.user.pk,
        "can_see_source": agent_source_visible(row, request.user),
        "is_waiting": any(services.submission_pending(submission) for submission in submissions),
    }
    if request.headers.get("HX-Target") == "submissions":
        return render(request, "web/agent/submissions.html", context)
    return render(request, "web/agent/agent.html", context, status=status)
