"""Pages with parts that refresh themselves: one address answers with the whole page or with one part."""

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

    fragments: maps the id of an element to its template.
    """
    wanted = fragments.get(request.headers.get("HX-Target", ""))
    response = render(request, wanted or template, context, status=200 if wanted else status)
    # A cache, including the browser's, must not show a part in place of the page.
    patch_vary_headers(response, ["HX-Target"])
    return response
