"""Addresses of runs in the API."""

from __future__ import annotations

from web.api.routing import native
from web.runs import api

routes = [
    *native("runs/", api.RunList, "runs"),
    *native("runs/<int:pk>/", api.RunShown, "run"),
    *native("runs/<int:pk>/cancel/", api.RunCancel, "run_cancel"),
    *native("runs/<int:pk>/records/", api.RunRecords, "run_records"),
]
