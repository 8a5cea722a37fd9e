"""Pages of challenges: owners make them, all visitors may read their reports."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from core.duels.challenge_selectors import DUELS_A_PAGE, challenge_get
from core.duels.challenges import challenge_cancel, challenge_create
from core.duels.version_tests import version_test_create
from core.errors import Refused
from core.models import Agent, AuditEntry, Challenge, Duel, Environment, User
from core.people.audit_log import operator_of
from web.site.limits import answer_refused
from web.site.requests import page_number
from web.submissions.agent_page import agent_page
from web.submissions.forms import archive_form


def challenge(request: HttpRequest, challenge_id: int) -> HttpResponse:
    """Show the report of a challenge; for htmx only the part that changes while duels are played."""
    count = Duel.objects.filter(challenge=challenge_id).count()
    page = Paginator(range(count), DUELS_A_PAGE).get_page(page_number(request.GET))
    try:
        report = challenge_get(challenge_id, page=page.number)
    except Challenge.DoesNotExist:
        raise Http404("There is no such challenge.") from None
    agent = report.challenge.submission.agent
    is_own = report.challenge.user_id == request.user.pk
    context = {
        "report": report,
        "challenge": report.challenge,
        "agent": agent,
        "environment": agent.environment,
        "may_cancel": is_own and not report.is_over,
        "page": page,
    }
    part = request.headers.get("HX-Target") == "challenge"
    return render(request, "web/duels/challenge_body.html" if part else "web/duels/challenge.html", context)


@login_required
def create(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a challenge. A GET comes from the login, which drops the form, and leads to the environment's page."""
    environment = get_object_or_404(Environment, slug=slug)
    if request.method != "POST":
        return redirect("web:environment", slug)
    assert isinstance(request.user, User)
    agent = _agent(environment, request.POST.get("agent", ""))
    if agent is None:
        messages.error(request, "Choose one of your agents.")
        return redirect("web:environment", slug)
    if agent.owner_id != request.user.pk:
        raise PermissionDenied("Only the owner of an agent may challenge others with it.")
    name = request.POST.get("opponent", "").strip()
    opponent = _agent(environment, name)
    if opponent is None and "top" not in request.POST:
        said = f"There is no agent “{name[:50]}” here." if name else "Enter an opponent."
        return _refused(request, agent, name, Refused(said, field="opponent"))
    try:
        made = challenge_create(user=request.user, agent=agent, opponent=None if "top" in request.POST else opponent)
    except Refused as refusal:
        return _refused(request, agent, name, refusal)
    return redirect("web:challenge", made.pk)


@login_required
def test(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Test a version of an agent against another one. GET, as after a login, leads to the agent's page."""
    environment = get_object_or_404(Environment, slug=slug)
    agent = _agent(environment, name)
    if agent is None:
        raise Http404("There is no such agent in this environment.")
    if request.method != "POST":
        return redirect("web:agent", slug, agent.name)
    assert isinstance(request.user, User)
    if agent.owner_id != request.user.pk:
        raise PermissionDenied("Only the owner of an agent may test its versions.")
    asked = [request.POST.get(field, "") for field in ("version", "against")]
    rows = {str(row.number): row for row in agent.submissions.select_related("agent__environment")}
    try:
        if not all(number in rows for number in asked):
            raise Refused("Choose two versions.")
        made = version_test_create(user=request.user, submission=rows[asked[0]], against=rows[asked[1]])
    except Refused as refusal:
        refused, form = {"test_error": str(refusal), "test_asked": asked}, archive_form(environment)()
        return answer_refused(refusal, lambda status: agent_page(request, agent, form, status, refused))
    return redirect("web:challenge", made.pk)


@require_POST
@login_required
def cancel(request: HttpRequest, challenge_id: int) -> HttpResponse:
    """Cancel the unfinished duels of a challenge, for the person who made it."""
    row = get_object_or_404(Challenge, pk=challenge_id)
    if row.user_id != request.user.pk:
        raise PermissionDenied("Only the person who made a challenge may cancel it.")
    try:
        count = challenge_cancel(challenge=row, operator=operator_of(request, AuditEntry.Channel.SITE))
    except Refused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, f"Cancelled {count} duel{'s' if count > 1 else ''}.")
    return redirect("web:challenge", row.pk)


def _refused(request: HttpRequest, agent: Agent, name: str, refusal: Refused) -> HttpResponse:
    """Show the page that had the form again, with what was entered and the refusal."""
    asked_on = _agent(agent.environment, request.POST.get("page", "")) or agent
    refused = {"challenge_error": str(refusal), "challenge_opponent": name, "challenge_agent": agent.name}
    form = archive_form(agent.environment)()
    return answer_refused(refusal, lambda status: agent_page(request, asked_on, form, status, refused))


def _agent(environment: Environment, name: str) -> Agent | None:
    rows = environment.agents.select_related("environment", "owner")
    # PostgreSQL refuses strings with a null character.
    return rows.filter(name__iexact=name).first() if name and "\x00" not in name else None
