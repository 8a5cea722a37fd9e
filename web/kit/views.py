"""The page of arena-kit, its wheel, and an index of this one package for installers (PEP 503 and PEP 691)."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.html import escape
from django.views.decorators.http import condition, require_safe
from packaging.utils import canonicalize_name

from web.kit.parts import install_command, wheel_path, wheel_served
from web.kit.wheel import Wheel

HTML_KINDS = ("application/vnd.pypi.simple.v1+html", "text/html")
JSON_KIND = "application/vnd.pypi.simple.v1+json"
FOR_EVER = "public, max-age=31536000, immutable"
FOR_A_WHILE = "public, max-age=600"
INDEX = (
    '<!DOCTYPE html><html><head><meta name="pypi:repository-version" content="1.0"><title>{}</title></head>'
    "<body>{}</body></html>"
)


@require_safe
def kit(request: HttpRequest) -> HttpResponse:
    """Show how to install arena-kit from this site and what it can do."""
    served = wheel_served()
    address = request.build_absolute_uri(wheel_path(served))
    context = {
        "wheel": served,
        "size": len(served.content),
        "exact": f'pip install "{served.name} @ {address}#sha256={served.sha256}"',
        "index": request.build_absolute_uri(reverse("web:kit_index")),
        "site": request.build_absolute_uri("/").rstrip("/"),
        "command": install_command(request, "docker,gymnasium,ranking"),
    }
    return render(request, "web/kit/kit.html", context)


@require_safe
def latest(request: HttpRequest, filename: str) -> HttpResponse:
    """Redirect the wheel's short address to that of its content."""
    served = wheel_served()
    if f"{filename}.whl" != served.filename:
        raise Http404(f"This arena offers {served.filename}.")
    return redirect(wheel_path(served))


def _etag(request: HttpRequest, sha256: str, filename: str) -> str | None:
    return f'"{sha256}"' if sha256 == wheel_served().sha256 else None


@require_safe
@condition(etag_func=_etag)
def file(request: HttpRequest, sha256: str, filename: str) -> HttpResponse:
    """Send the wheel; another hash than that of the present one is of a wheel that is no longer here."""
    served = wheel_served()
    if (sha256, filename) != (served.sha256, served.filename):
        raise Http404(f"This arena now offers {served.filename} with another content.")
    headers = {"Cache-Control": FOR_EVER, "Content-Disposition": f'attachment; filename="{served.filename}"'}
    return HttpResponse(served.content, content_type="application/octet-stream", headers=headers)


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the packages of the index: this one."""
    name = wheel_served().name
    data = {"meta": {"api-version": "1.0"}, "projects": [{"name": name}]}
    return _answer(request, data, f'<a href="{escape(name)}/">{escape(name)}</a>')


@require_safe
def project(request: HttpRequest, name: str) -> HttpResponse:
    """List the files of the package."""
    served = wheel_served()
    if canonicalize_name(name) != served.name:
        raise Http404("This index has no other package than arena-kit.")
    if name != served.name:
        return redirect("web:kit_project", served.name)
    link = request.build_absolute_uri(wheel_path(served))
    anchor = (
        f'<a href="{escape(link)}#sha256={served.sha256}" data-requires-python="{escape(served.requires_python)}">'
        f"{escape(served.filename)}</a>"
    )
    return _answer(request, _project(served, link), anchor)


def _project(served: Wheel, link: str) -> dict[str, Any]:
    return {
        "meta": {"api-version": "1.0"},
        "name": served.name,
        "files": [
            {
                "filename": served.filename,
                "url": link,
                "hashes": {"sha256": served.sha256},
                "requires-python": served.requires_python,
            }
        ],
    }


def _answer(request: HttpRequest, data: dict[str, Any], body: str) -> HttpResponse:
    """Answer in the form that the installer prefers: HTML for those that name none."""
    preferred = request.get_preferred_type([*HTML_KINDS, JSON_KIND])
    response: HttpResponse
    if preferred == JSON_KIND:
        response = JsonResponse(data, content_type=JSON_KIND)
    else:
        kind = preferred if preferred in HTML_KINDS else HTML_KINDS[-1]
        response = HttpResponse(INDEX.format("arena-kit", body), content_type=f"{kind}; charset=utf-8")
    response.headers["Cache-Control"] = FOR_A_WHILE
    patch_vary_headers(response, ["Accept"])
    return response
