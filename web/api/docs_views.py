"""The page on which people read the description of the API."""

from __future__ import annotations

from functools import cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from web.api.reference import COMPATIBLE, groups, objects


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Show how to begin, and every address."""
    site = settings.SITE_URL or f"{request.scheme}://{request.get_host()}"
    return render(request, "web/api/docs.html", {"site": site, "reference": _reference()})


@cache
def _reference() -> str:
    """Return the list of addresses and objects, which never changes while the process lives."""
    context = {"groups": groups(), "objects": objects(), "compatible": COMPATIBLE}
    return render_to_string("web/api/reference.html", context)
