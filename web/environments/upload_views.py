"""Uploads from an environment's page: a new agent, a new version, or the random example."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from core.errors import Refused
from core.models import Environment, Submission, User
from core.submissions import services
from core.submissions.examples import example_upload
from core.submissions.findings import Unfinished, upload_findings
from core.submissions.trials import trial_end, trial_matches, trial_play
from web.environments.tab_views import upload_form, write_page
from web.site.forms import refuse
from web.site.limits import answer_refused
from web.submissions.forms import AgentForm, archive_form


@login_required
def agent_random(request: HttpRequest, slug: str) -> HttpResponse:
    """Upload the random example. GET redirects to the button, because a login loses what was sent."""
    if request.method != "POST":
        return redirect("web:environment_write", slug)
    assert isinstance(request.user, User)
    environment = get_object_or_404(Environment, slug=slug)
    try:
        submission = example_upload(owner=request.user, environment=environment, tell=partial(messages.info, request))
    except Refused as refusal:
        messages.error(request, str(refusal))
        return answer_refused(
            refusal, lambda status: write_page(request, environment, upload_form(request, environment), status)
        )
    return redirect("web:agent", slug, submission.agent.name)


@login_required
def agent_create(request: HttpRequest, slug: str) -> HttpResponse:
    """Create an agent with its first version. GET redirects to the form, because a login loses what was sent."""
    if request.method != "POST":
        return redirect("web:environment_write", slug)
    assert isinstance(request.user, User)
    environment = get_object_or_404(Environment, slug=slug)
    form = upload_form(request, environment, request.POST, request.FILES)
    refused: Refused | None = None
    if form.is_valid():
        try:
            submission = _uploaded(request, environment, form)
        except Refused as refusal:
            refused = refusal
            refuse(form, refusal)
        else:
            return redirect("web:agent", environment.slug, submission.agent.name)
    return answer_refused(refused, lambda status: write_page(request, environment, form, status))


@require_POST
@login_required
def agent_check(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what an upload of the form's files would be refused for, and begin ten matches; no quota is used."""
    assert isinstance(request.user, User)
    environment = get_object_or_404(Environment, slug=slug)
    form = archive_form(environment)(request.POST, request.FILES)
    form.is_valid()
    found, trial, unplayed = None, None, ""
    trouble = " ".join(map(str, form.errors.get("archive", ())))
    if "archive" in form.cleaned_data:
        try:
            archive = form.cleaned_data["archive"]
            found = upload_findings(archive=archive, environment=environment, owner=request.user)
            if found.is_valid:
                trial = trial_play(caller=request.user, environment=environment, archive=archive, now=timezone.now())
        except Unfinished as unfinished:
            trouble = str(unfinished)
        except Refused as refusal:
            unplayed = str(refusal)
    context = {"environment": environment, "found": found, "trouble": trouble, "trial": trial, "unplayed": unplayed}
    return render(request, "web/environments/checked.html", context)


@require_POST
@login_required
def agent_check_matches(request: HttpRequest, slug: str, public_id: UUID) -> HttpResponse:
    """Show how the matches of a checked archive ended, and delete what they needed; ask again while they are played."""
    rows = Submission.objects.filter(agent__owner=request.user.pk, trial_opponent__isnull=False, deleted_at=None)
    trial = get_object_or_404(rows, public_id=public_id, agent__environment__slug=slug)
    matches, unplayed = None, ""
    try:
        matches = trial_matches(trial, now=timezone.now())
    except Refused as refusal:
        unplayed = str(refusal)
    if matches is not None or unplayed:
        trial_end(trial.pk)
    context = {"environment": trial.agent.environment, "trial": trial, "matches": matches, "unplayed": unplayed}
    return render(request, "web/environments/checked_matches.html", context)


def _uploaded(request: HttpRequest, environment: Environment, form: AgentForm) -> Submission:
    """Upload what a valid form holds. Raises Refused."""
    assert isinstance(request.user, User)
    what: dict[str, Any] = {
        "archive": form.cleaned_data["archive"],
        "labels": form.labels,
        "tell": partial(messages.info, request),
    }
    if name := form.cleaned_data.get("version_of"):
        agent = request.user.agents.get(environment=environment, name=name)
        return services.submission_create(agent=agent, **what)
    given = {name: form.cleaned_data[name] for name in ("name", "is_public")}
    return services.agent_create(owner=request.user, environment=environment, **given, **what)
