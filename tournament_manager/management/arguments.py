"""Arguments of the commands that plan tournaments."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError

from arena_kit.ranking.formats import FORMATS
from core.models import Audience, Environment


def add_plan_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that describe a tournament."""
    parser.add_argument("--format", choices=list(FORMATS), help="one of the formats in docs/reference/formats.md")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the format, e.g. rounds=5"
    )
    parser.add_argument("--name", help="its name")
    parser.add_argument("--unrated", action="store_true", help="its duels do not count for ratings")
    parser.add_argument(
        "--results",
        choices=[value.lower() for value in Audience.values],
        default=Audience.PUBLIC.lower(),
        help="who can see its results until they are released",
    )
    parser.add_argument("--max-participants", type=int, metavar="N", help="the most participants, with a registration")
    parser.add_argument(
        "--teams", nargs="+", default=[], metavar="TEAM", help="only members of these teams may take part"
    )


def environment_named(slug: str) -> Environment:
    """The environment with this slug. Raises CommandError, which names the existing ones."""
    environment = Environment.objects.filter(slug=slug).first()
    if environment is None:
        known = ", ".join(Environment.objects.values_list("slug", flat=True)) or "none; run sync_environments"
        raise CommandError(f"There is no environment {slug!r}. There are: {known}.")
    return environment


def settings_named(pairs: Sequence[str]) -> dict[str, Any]:
    """`rounds=5` and `third_place=true` as plain values. Raises CommandError."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        try:
            if not equals:
                raise ValueError("no value")
            settings[name.strip()] = json.loads(value.strip().lower())
        except ValueError:
            raise CommandError(
                f"--set {pair} is not understood. Write e.g. --set rounds=5 or --set third_place=true."
            ) from None
    return settings


def time_named(text: str) -> datetime:
    """A time in ISO 8601; without a zone it is UTC. Raises CommandError."""
    try:
        time = datetime.fromisoformat(text)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise CommandError(f"{text!r} is not a time. Write e.g. 2026-12-04T18:00, in UTC.") from None
