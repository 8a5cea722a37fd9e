"""Downloads of an environment: its rules, starter kits as `arena new` writes them, and example players."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from arena_kit import starter_notebook
from arena_kit.environment.folder import environment_zip
from arena_kit.environment.protocol import ArenaEnvironmentError, UnknownEnvironment
from arena_kit.environment.registry import get_spec
from arena_kit.examples import make_archive, own_archive, own_players
from arena_kit.kits import Kit, kit_zip, kits_for
from arena_kit.starter_notebook import extras_of
from core.models import Environment
from web.kit.parts import install_command


def kit(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Send a starter kit for an environment as a zip, which can be uploaded as it is."""
    row = get_object_or_404(Environment, slug=slug)
    try:
        archive = kit_zip(get_spec(row.slug), name, f"my_{name.replace('-', '_')}")
    except ArenaEnvironmentError as error:
        raise Http404(str(error)) from None
    response = HttpResponse(archive, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{row.slug}-{name}.zip"'
    return response


def notebook(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the notebook with which an agent for an environment begins, which installs arena-kit from this site."""
    row = get_object_or_404(Environment, slug=slug)
    try:
        spec = get_spec(row.slug)
        site = request.build_absolute_uri("/").rstrip("/")
        install = install_command(request, extras_of(spec)).removeprefix("pip install ")
        content = starter_notebook.notebook(spec, "my_agent", site=site, install=install)
    except ArenaEnvironmentError as error:
        raise Http404(str(error)) from None
    headers = {"Content-Disposition": f'attachment; filename="{row.slug}.ipynb"'}
    return HttpResponse(content, content_type="application/json", headers=headers)


def kits_of(row: Environment) -> tuple[Kit, ...]:
    """Return the kits that fit an environment; none if its rules are no longer installed."""
    try:
        return kits_for(get_spec(row.slug))
    except ArenaEnvironmentError:
        return ()


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


def own_player(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Send an example player that the folder of an organiser brings as a zip, which can be uploaded as it is."""
    folder = own_players_of(get_object_or_404(Environment, slug=slug)).get(name)
    if folder is None:
        raise Http404("There is no such example agent.")
    response = HttpResponse(own_archive(folder), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    return response


def own_players_of(row: Environment) -> dict[str, Path]:
    """Return the example players of an organiser's folder; none if its rules are no longer installed."""
    try:
        return own_players(get_spec(row.slug))
    except ArenaEnvironmentError:
        return {}


def rules_zip(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the folder or file of an environment, which holds its rules, as a zip."""
    row = get_object_or_404(Environment, slug=slug)
    try:
        content = environment_zip(get_spec(row.spec_id))
    except (UnknownEnvironment, OSError):
        raise Http404(f"This arena no longer has the rules of {row}.") from None
    headers = {"Content-Disposition": f'attachment; filename="{row.spec_id}.zip"'}
    return HttpResponse(content, content_type="application/zip", headers=headers)
