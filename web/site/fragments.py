"""Pages whose parts refresh themselves: the same address answers with the whole page, or with the part asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def render_page(
    request: HttpRequest, template: str, context: dict[str, Any], fragments: Mapping[str, str], status: int = 200
) -> HttpResponse:
    """Render `template`, or the fragment that htmx wants to replace.

    fragments: templates by the id of the element that they are.
    """
    wanted = fragments.get(request.headers.get("HX-Target", ""))
    response = render(request, wanted or template, context, status=200 if wanted else status)
    # A cache, the browser's own included, must not show a part for the whole.
    patch_vary_headers(response, ["HX-Target"])
    return response
