"""The page of an agent, with a form that may have been refused."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from core.models import Agent
from web.site.fragments import render_page
from web.site.requests import viewer_of, whole_number
from web.submissions.forms import FilesForm
from web.submissions.parts import agent_parts, agent_rights, upload_quotas


def agent_page(
    request: HttpRequest, row: Agent, form: FilesForm, status: int = 200, more: Mapping[str, object] | None = None
) -> HttpResponse:
    """Render the agent's page, or the one version that htmx refreshes. more: context of another refused form."""
    wanted = whole_number(request.headers.get("HX-Target", "").removeprefix("v"))
    rights = agent_rights(row, viewer_of(request))
    context = {
        "agent": row,
        "environment": row.environment,
        "page": reverse("web:agent", args=[row.environment.slug, row.name]),
        **rights,
        **agent_parts(row, viewer_of(request), request.GET, wanted),
        "form": form,
        "quotas": upload_quotas(row.owner, row.environment, form) if rights["takes_versions"] else [],
        **(more or {}),
    }
    fragments = {f"v{wanted}": "web/submissions/version.html"} if context["versions"] else {}
    return render_page(request, "web/submissions/agent.html", context, fragments, status)
