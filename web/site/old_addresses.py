"""Addresses of the older systems, which links in papers, mails and scripts still name. Each leads to ours for good."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe
from django.views.generic import RedirectView

COMPETITOR = "environment/<slug:slug>/competitor/<str:name>/"
EDITION = "environment/<slug:slug>/tournament/<int:edition>/"


def moved(route: str, view: str, **fixed: str) -> URLPattern:
    """Redirect an address (301) to the page `view`, which takes the same names. fixed: what the old one leaves out."""
    return path(route, RedirectView.as_view(pattern_name=view, permanent=True, query_string=True), fixed)


@require_safe
def duel_of(request: HttpRequest, slug: str, edition: int, name: str, **_: object) -> HttpResponseBase:
    """Redirect a duel that was named by its two agents to the first agent's duels in that edition."""
    return RedirectView.as_view(pattern_name="web:participant", permanent=True, query_string=True)(
        request, slug=slug, edition=edition, name=name
    )


old_addresses = [
    moved("create_account/", "account_signup"),
    moved("user/<str:username>/", "web:user"),
    moved("environment/<slug:slug>/", "web:environment"),
    moved(COMPETITOR, "web:agent"),
    moved(EDITION, "web:edition"),
    moved(EDITION + "competitor/<str:name>/", "web:participant"),
    path(EDITION + "duel/<str:name>/<str:opponent>/", duel_of),
    path(EDITION + "duel/<str:name>/<str:opponent>/<int:number>/", duel_of),
    moved("duel/<int:duel_id>/logs/", "web:duel_log", log="arena"),
    moved("duel/<int:duel_id>/results/", "web:duel_results"),
    # Without a slash at its end, as FastAPI has it: /docs/ is the documentation.
    moved("docs", "api:docs"),
    moved("openapi.json", "api:schema"),
]
