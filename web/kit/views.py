"""The page of arena-kit, its wheel, and an index of this one package for installers (PEP 503 and PEP 691)."""

from __future__ import annotations

import re
from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.html import escape
from django.views.decorators.http import condition, require_safe
from packaging.utils import canonicalize_name

from arena_kit.schemas import schemas
from web.kit.bundle import EXTRAS, bundle_open, bundle_size
from web.kit.parts import install_command, install_ways, wheel_path, wheel_served
from web.kit.wheel import Wheel

HTML_KINDS = ("application/vnd.pypi.simple.v1+html", "text/html")
JSON_KIND = "application/vnd.pypi.simple.v1+json"
NAME = re.compile("[a-z0-9](-?[a-z0-9]+)*")
PYPI = "https://pypi.org/simple/"
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
        "ways": install_ways(request, "docker,gymnasium,ranking"),
        "bundle_size": bundle_size(served),
        "carried": _carried(request),
    }
    return render(request, "web/kit/kit.html", context)


@require_safe
def latest(request: HttpRequest, filename: str) -> HttpResponse:
    """Redirect the wheel's short address, also one of an older version that a notebook has kept, to the wheel."""
    served = wheel_served()
    if filename.partition("-")[0] != served.filename.partition("-")[0]:
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


def _carried(request: HttpRequest) -> str:
    """Return the commands that fetch all wheels on a machine with internet, and install them on one without."""
    fetch = install_command(request, ",".join(EXTRAS)).replace("pip install", "pip download -d arena-wheels", 1)
    return f'{fetch}\npip install --no-index --find-links arena-wheels "arena-kit[{",".join(EXTRAS)}]"'


@require_safe
def bundle(request: HttpRequest) -> FileResponse:
    """Send the zip of arena-kit and all that it needs."""
    try:
        content = bundle_open(wheel_served())
    except FileNotFoundError:
        raise Http404("There is no bundle of this version of arena-kit. Its page shows how to do without.") from None
    return FileResponse(content, as_attachment=True, filename="arena-kit.zip")


@require_safe
def schema(request: HttpRequest, name: str) -> HttpResponse:
    """Send the JSON Schema of a file that organisers write, which editors complete and check by."""
    found = schemas().get(name)
    if found is None:
        raise Http404(f"There are the schemas {', '.join(sorted(schemas()))}.")
    return HttpResponse(found, content_type="application/schema+json", headers={"Cache-Control": FOR_A_WHILE})


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the packages of the index: this one."""
    name = wheel_served().name
    data = {"meta": {"api-version": "1.0"}, "projects": [{"name": name}]}
    return _answer(request, data, f'<a href="{escape(name)}/">{escape(name)}</a>')


@require_safe
def project(request: HttpRequest, name: str) -> HttpResponse:
    """List the files of the package. Other packages are those of PyPI, so that one index serves for all."""
    served, wanted = wheel_served(), canonicalize_name(name)
    if not NAME.fullmatch(wanted):
        raise Http404("No package has this name.")
    if wanted != served.name:
        return redirect(f"{PYPI}{wanted}/")
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
