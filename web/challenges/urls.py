"""Addresses of the pages of challenges, and of their API."""

from __future__ import annotations

from django.urls import path

from web.api.routing import native
from web.challenges import api
from web.challenges import views as challenges
from web.site.urls import AGENT

pages = [
    path(AGENT + "test/", challenges.test, name="version_test"),
    path("environments/<slug:slug>/challenges/", challenges.create, name="challenge_create"),
    path("challenges/<int:challenge_id>/", challenges.challenge, name="challenge"),
    path("challenges/<int:challenge_id>/cancel/", challenges.cancel, name="challenge_cancel"),
]

routes = [
    *native("challenges/", api.ChallengeList, "challenges"),
    *native("challenges/<int:pk>/", api.ChallengeShown, "challenge"),
    *native("challenges/<int:pk>/cancel/", api.ChallengeCancel, "challenge_cancel"),
]
