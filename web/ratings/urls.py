"""Addresses of the pages of ratings, and of their API."""

from __future__ import annotations

from django.urls import path

from web.api.routing import native
from web.ratings import badge, feeds, history_api, lens_api
from web.ratings import lens_views as lenses

pages = [
    path("environments/<slug:slug>/head-to-head/", lenses.head_to_head, name="head_to_head"),
    path("environments/<slug:slug>/lens/", lenses.lens, name="lens"),
    path("environments/<slug:slug>/calibration/", lenses.calibration, name="calibration"),
    path("environments/<slug:slug>/agents/<str:name>/badge.svg", badge.badge, name="badge"),
    path("environments/<slug:slug>/feed.atom", feeds.EnvironmentFeed(), name="environment_feed"),
    path("environments/<slug:slug>/agents/<str:name>/feed.atom", feeds.AgentFeed(), name="agent_feed"),
]

routes = [
    *native("environments/<slug:slug>/head-to-head/", lens_api.EnvironmentHeadToHead, "head_to_head"),
    *native("environments/<slug:slug>/lens/", lens_api.EnvironmentLens, "lens"),
    *native("environments/<slug:slug>/calibration/", lens_api.EnvironmentCalibration, "calibration"),
    *native("agents/<int:pk>/history/", history_api.AgentHistory, "agent_history"),
]
