"""The tabs of an environment beside its board: the rules, and how to write and upload an agent."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from arena_kit.environment.folder import environment_zip
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from arena_kit.examples import make_archive
from core.evaluations.episodes import spec_or_none
from core.evaluations.selectors import practice_list, ranking_list, revealed_lists
from core.models import Environment
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
    return write_page(request, row, agent_form(row)())


def write_page(request: HttpRequest, row: Environment, form: AgentForm, status: int = 200) -> HttpResponse:
    """Render that page with a form that may have been refused."""
    context = writing_parts(request.user, row, form)
    return render(request, "web/environments/write.html", context, status=status)


def starter_kit(request: HttpRequest, name: str) -> HttpResponse:
    """Send an example player as a zip, with what the arena has trained it on for `?environment=`, if anything."""
    environment = request.GET.get("environment", "")
    try:
        archive = make_archive(name, environment, store=settings.DATA_DIR / "examples")
    except LookupError as error:
        raise Http404(str(error)) from None
    response = HttpResponse(archive, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    return response


def rules_zip(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the folder or file of an environment, which holds its rules, as a zip."""
    row = get_object_or_404(Environment, slug=slug)
    try:
        content = environment_zip(get_spec(row.spec_id))
    except (UnknownEnvironment, OSError):
        raise Http404(f"This arena no longer has the rules of {row}.") from None
    headers = {"Content-Disposition": f'attachment; filename="{row.spec_id}.zip"'}
    return HttpResponse(content, content_type="application/zip", headers=headers)
