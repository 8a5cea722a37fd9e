"""Starter kits as downloads: the same files that `arena new` writes."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.registry import get_spec
from arena_kit.kits import Kit, kit_zip, kits_for
from core.models import Environment


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


def kits_of(row: Environment) -> tuple[Kit, ...]:
    """Return the kits that fit an environment; none if its rules are no longer installed."""
    try:
        return kits_for(get_spec(row.slug))
    except ArenaEnvironmentError:
        return ()
