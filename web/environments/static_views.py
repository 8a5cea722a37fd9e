"""The pictures and style sheets of environments from outside, which are not static files of the site."""

from __future__ import annotations

from hashlib import sha256

from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.templatetags.static import static
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from arena_kit.environment.outside.pictures import TYPES, NotShown, static_file
from arena_kit.environment.registry import all_specs
from arena_kit.environment.spec import EnvironmentSpec
from core.environments.availability import DEFAULT_PICTURE

CACHE = "public, max-age=3600"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
"""Lets a picture style itself and nothing else: an SVG that is opened as a page cannot run scripts."""


@require_safe
def environment_file(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """Send a file from the `static/` of an environment's folder; a neutral picture for its missing card picture."""
    spec = next((spec for spec in all_specs() if spec.slug == slug), None)
    if spec is None:
        raise Http404("There is no such environment.")
    if not spec.is_outside:
        return _shipped(request, spec, name)
    try:
        path = static_file(spec.file.parent, name)
        content = path.read_bytes()
    except (NotShown, OSError):
        if name == spec.image:
            return HttpResponseRedirect(static(DEFAULT_PICTURE))
        raise Http404("There is no such file.") from None
    etag = quote_etag(sha256(content).hexdigest()[:32])
    response = HttpResponse(content, content_type=TYPES[path.suffix.lower()])
    response["ETag"], response["Cache-Control"] = etag, CACHE
    response["X-Content-Type-Options"], response["Content-Security-Policy"] = "nosniff", POLICY
    return get_conditional_response(request, etag=etag, response=response) or response


def _shipped(request: HttpRequest, spec: EnvironmentSpec, name: str) -> HttpResponseBase:
    """Redirect to the static file of an environment of the arena, whose older address this is."""
    path = f"{spec.picture.rpartition('/')[0]}/{name}"
    address = static(path) if finders.find(path) else request.path
    if address == request.path:
        raise Http404("There is no such file.")
    return HttpResponseRedirect(address)
