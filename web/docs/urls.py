"""Addresses of the documentation and the search."""

from __future__ import annotations

from django.urls import path

from web.docs import views as docs

pages = [
    path("docs/", docs.doc, name="docs"),
    path("docs/<path:name>/", docs.doc, name="doc"),
    path("search/", docs.search, name="search"),
]
