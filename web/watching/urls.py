"""Address of the page of live matches."""

from __future__ import annotations

from django.urls import path

from web.watching import views as watching

pages = [
    path("live/", watching.watch, name="watch"),
]
