"""The database without the pooler before it: DATABASE_DIRECT_URL, for what holds one connection for long."""

from __future__ import annotations

from typing import Any

import dj_database_url
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from core.checks.startup import TAG

POSTGRESQL = "django.db.backends.postgresql"
HINT = "Set it to the address of PostgreSQL itself, e.g. postgresql://arena@postgres:5432/arena, or leave it out."


def direct_place(pooled: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the database itself. pooled: those of the connection, which are returned without a pooler.

    Host, port and options are those of the direct address alone: the pooler's have nothing to do with it. Name, user
    and password may be left out where they are the same.
    """
    if not settings.DATABASE_DIRECT_URL:
        return pooled
    found = dj_database_url.parse(settings.DATABASE_DIRECT_URL)
    same = {name: found[name] or pooled[name] for name in ("NAME", "USER", "PASSWORD")}
    return {**pooled, **same, "HOST": found["HOST"], "PORT": found["PORT"], "OPTIONS": found.get("OPTIONS", {})}


@register(TAG)
def check_direct(**_: Any) -> list[CheckMessage]:
    """arena.E024: DATABASE_DIRECT_URL is not the address of PostgreSQL, or DATABASE_URL does not lead to its pooler."""
    if not settings.DATABASE_DIRECT_URL:
        return []
    # The address itself may hold a password.
    problem = ""
    try:
        engine = dj_database_url.parse(settings.DATABASE_DIRECT_URL)["ENGINE"]
    except ValueError:
        problem = "DATABASE_DIRECT_URL is not the address of a database."
    else:
        if engine != POSTGRESQL:
            problem = "DATABASE_DIRECT_URL is not the address of PostgreSQL."
        elif settings.DATABASES["default"]["ENGINE"] != engine:
            problem = "DATABASE_DIRECT_URL is set, but DATABASE_URL does not lead to PostgreSQL, so there is no pooler."
    return [Error(problem, hint=HINT, id="arena.E024")] if problem else []
