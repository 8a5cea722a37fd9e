"""Pages of agents: uploads, versions and their status."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from core.errors import Refused
from core.models import Agent, AuditEntry, Submission, User
from core.people.audit_log import operator_of
from core.submissions import descriptions, existing, naming, services, versions
from core.submissions.cancels import open_phase, phase_cancel
from core.submissions.selectors import agent_get
from web.site.forms import refuse
from web.site.limits import answer_refused
from web.site.refusals import said
from web.submissions.agent_page import agent_page
from web.submissions.forms import archive_form
from web.submissions.resting import remove, rest


def agent(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Show the page of an agent; a former name leads to the new one."""
    try:
        row = _get(slug, name)
    except Http404:
        if (renamed := naming.agent_once_named(slug, name)) is None:
            raise
        return redirect("web:agent", slug, renamed.name)
    return agent_page(request, row, archive_form(row.environment)())


@login_required
def submission_create(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Upload a new version, for the owner alone. GET redirects to the form, as for `agent_create`."""
    if request.method != "POST":
        return redirect("web:agent", slug, name)
    row = _get_own(request, slug, name)
    form = archive_form(row.environment)(request.POST, request.FILES)
    refused: Refused | None = None
    if form.is_valid():
        try:
            services.submission_create(
                agent=row,
                archive=form.cleaned_data["archive"],
                labels=form.labels,
                tell=partial(messages.info, request),
            )
        except Refused as refusal:
            refused = refusal
            refuse(form, refusal)
        else:
            return redirect("web:agent", slug, row.name)
    return answer_refused(refused, lambda status: agent_page(request, row, form, status))


@require_POST
@login_required
def submission_delete(request: HttpRequest, slug: str, name: str, number: int) -> HttpResponse:
    """Delete a version's archive and image; its results stay."""
    row, submission = _get_own_version(request, slug, name, number)
    existing.submission_delete(submission=submission)
    messages.success(request, f"Version {number} is deleted; its results stay.")
    return redirect("web:agent", slug, row.name)


@require_POST
@login_required
def submission_activate(request: HttpRequest, slug: str, name: str, number: int) -> HttpResponse:
    """Let a version play for its agent instead of newer versions."""
    row, submission = _get_own_version(request, slug, name, number)
    change = partial(versions.submission_activate, submission=submission)
    said(request, f"Version {number} plays from the next tournament on.", change)
    return redirect("web:agent", slug, row.name)


@require_POST
@login_required
def submission_bench(request: HttpRequest, slug: str, name: str, number: int) -> HttpResponse:
    """Bench a version; the newest other version plays instead."""
    row, submission = _get_own_version(request, slug, name, number)
    said(request, f"Version {number} is benched.", partial(versions.submission_bench, submission=submission))
    return redirect("web:agent", slug, row.name)


@require_POST
@login_required
def submission_cancel(request: HttpRequest, slug: str, name: str, number: int) -> HttpResponse:
    """Cancel the build, validation or evaluation that a version is in."""
    row, submission = _get_own_version(request, slug, name, number)
    phase = open_phase(submission)
    if phase is None:
        messages.error(request, f"Version {number} has no build, validation or evaluation to cancel.")
    else:
        operator = operator_of(request, AuditEntry.Channel.SITE)
        change = partial(phase_cancel, job=phase, operator=operator)
        said(request, f"The {phase.KIND} of version {number} is cancelled.", change)
    return redirect("web:agent", slug, row.name)


@require_POST
@login_required
def agent_rename(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Give an agent another name."""
    row = _get_own(request, slug, name)
    wanted = request.POST.get("name", "").strip()
    change = partial(naming.agent_rename, agent=row, name=wanted)
    said(request, f"The agent is called {wanted} now; its old address leads here.", change)
    return redirect("web:agent", slug, Agent.objects.get(pk=row.pk).name)


@require_POST
@login_required
def agent_describe(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Change what the owner says about an agent."""
    row = _get_own(request, slug, name)
    change = partial(descriptions.agent_describe, agent=row, description=request.POST.get("description", ""))
    said(request, "The description is saved.", change)
    if "asks_for_moves" in request.POST:
        descriptions.agent_share(agent=row, shares_moves="shares_moves" in request.POST)
    return redirect("web:agent", slug, row.name)


@require_POST
@login_required
def agent_rest(request: HttpRequest, slug: str, name: str, *, is_resting: bool) -> HttpResponse:
    """Let an agent rest or play again; for its owner and organisers."""
    assert isinstance(request.user, User)
    row = _get(slug, name)
    change = partial(rest, request, request.user, row, is_resting=is_resting, channel=AuditEntry.Channel.SITE)
    said(request, f"{row} {'is hidden' if is_resting else 'plays again'}.", change)
    return redirect("web:agent", slug, row.name)


@require_POST
@login_required
def agent_delete(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Delete an agent that has no results."""
    assert isinstance(request.user, User)
    row = _get(slug, name)
    said(request, f"{row} is deleted.", partial(remove, request, request.user, row, channel=AuditEntry.Channel.SITE))
    if Agent.objects.filter(pk=row.pk).exists():
        return redirect("web:agent", slug, row.name)
    return redirect("web:environment", slug)


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


def _get_own_version(request: HttpRequest, slug: str, name: str, number: int) -> tuple[Agent, Submission]:
    row = _get_own(request, slug, name)
    submission = row.submissions.filter(deleted_at=None, number=number).first()
    if submission is None:
        raise Http404(f"{row} has no version {number}, or the version is deleted already.")
    return row, submission
