"""Addresses of the documentation and the search."""

from __future__ import annotations

from django.urls import path

from web.docs import views as docs

pages = [
    path("how/", docs.how, name="how"),
    path("docs/", docs.index, name="docs"),
    path("docs/<path:name>/", docs.doc, name="doc"),
    path("search/", docs.search, name="search"),
]
