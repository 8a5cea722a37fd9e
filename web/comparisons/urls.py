"""Addresses of the pages of comparisons, and of their API."""

from __future__ import annotations

from django.urls import path

from web.api.routing import native
from web.comparisons import api
from web.comparisons import views as comparisons

pages = [
    path("environments/<slug:slug>/compare/", comparisons.comparison, name="compare"),
]

routes = [
    *native("environments/<slug:slug>/compare/", api.EnvironmentComparison, "comparison"),
]
