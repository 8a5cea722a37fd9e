"""Loads all admin pages, one module per concept. Derived and append-only rows are read-only."""

from django.conf import settings
from django.contrib import admin

from web.admin import (
    agents,
    audit,
    duels,
    environments,
    evaluations,
    jobs,
    ledger,
    notices,
    participants,
    planning,
    rollouts,
    second_factor,
    seeds,
    tournaments,
    users,
    webhooks,
    workers,
)

__all__ = [
    "agents",
    "audit",
    "duels",
    "environments",
    "evaluations",
    "jobs",
    "ledger",
    "notices",
    "participants",
    "planning",
    "rollouts",
    "second_factor",
    "seeds",
    "tournaments",
    "users",
    "webhooks",
    "workers",
]


admin.site.site_header = f"{settings.SITE_NAME} for organisers"
admin.site.site_title = settings.SITE_NAME
admin.site.index_title = "Organise"
admin.site.index_template = "web/admin/admin_index.html"
