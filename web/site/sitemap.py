"""The addresses that search engines should know."""

from __future__ import annotations

from xml.sax.saxutils import escape

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from core.courses.sight import public
from core.listing import environment_rows

PAGES = ("home", "docs")
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


@require_safe
def sitemap(request: HttpRequest) -> HttpResponse:
    """List the home page, the documentation and every environment, as sitemaps.org has it."""
    paths = [reverse(f"web:{name}") for name in PAGES]
    paths += [reverse("web:environment", args=[row.slug]) for row in public(environment_rows())]
    urls = "".join(f"<url><loc>{escape(request.build_absolute_uri(path))}</loc></url>" for path in paths)
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{NAMESPACE}">{urls}</urlset>\n'
    return HttpResponse(text, content_type="application/xml")
