"""Addresses for operators and their programs."""

from __future__ import annotations

from django.urls import path, re_path

from web.operations import views as operations

pages = [
    re_path(r"^health/live/?$", operations.live, name="live"),
    path("operations/", operations.operations, name="operations"),
    re_path(r"^metrics/?$", operations.metrics, name="metrics"),
]
