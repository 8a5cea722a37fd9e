"""The button that uploads the random example as the viewer's own agent."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from core.errors import Refused
from core.models import Environment, User
from core.submissions import services
from core.submissions.examples import example_upload
from web.environments.tab_views import write_page
from web.site.forms import refuse
from web.site.limits import answer_refused
from web.submissions.forms import agent_form


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
            refusal, lambda status: write_page(request, environment, agent_form(environment)(), status)
        )
    return redirect("web:agent", slug, submission.agent.name)


@login_required
def agent_create(request: HttpRequest, slug: str) -> HttpResponse:
    """Create an agent with its first version. GET redirects to the form, because a login loses what was sent."""
    if request.method != "POST":
        return redirect("web:environment_write", slug)
    assert isinstance(request.user, User)
    environment = get_object_or_404(Environment, slug=slug)
    form = agent_form(environment)(request.POST, request.FILES)
    refused: Refused | None = None
    if form.is_valid():
        try:
            submission = services.agent_create(
                owner=request.user,
                environment=environment,
                **{name: form.cleaned_data[name] for name in ("name", "is_public", "archive")},
                labels=form.labels,
                tell=partial(messages.info, request),
            )
        except Refused as refusal:
            refused = refusal
            refuse(form, refusal)
        else:
            return redirect("web:agent", environment.slug, submission.agent.name)
    return answer_refused(refused, lambda status: write_page(request, environment, form, status))
