"""Addresses of arena-kit: its page, its index of packages, and the API's root."""

from __future__ import annotations

from django.urls import path

from web.api.routing import native
from web.kit import api
from web.kit import views as kit

pages = [
    path("schemas/<str:name>.json", kit.schema, name="schema"),
    path("kit/", kit.kit, name="kit"),
    path("kit/bundle.zip", kit.bundle, name="kit_bundle"),
    path("kit/simple/", kit.index, name="kit_index"),
    path("kit/simple/<str:name>/", kit.project, name="kit_project"),
    path("kit/files/<str:sha256>/<str:filename>", kit.file, name="kit_file"),
    path("kit/<str:filename>.whl", kit.latest, name="kit_latest"),
]

routes = [
    *native("", api.SiteShown, "site"),
]
