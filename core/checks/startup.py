"""System checks: settings that do not fit together are refused at start, with a hint what to do."""

from __future__ import annotations

import logging
import re
import sys
from importlib.util import find_spec
from ipaddress import ip_network
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register, run_checks
from django.core.checks import Warning as Advice
from django.core.exceptions import ImproperlyConfigured

from arena_kit.environment.info import BadInfo
from arena_kit.environment.registry import left_out, notes
from arena_kit.folders import DATA_DIR_HINT, data_dir_close, data_dir_problem
from core.monitoring.logs import FORMATS as LOG_FORMATS

logger = logging.getLogger(__name__)
TAG = "arena"
ENGINE_TAG = "engine"
RATE = re.compile(r"[1-9][0-9]*/[smhd][a-z]*")


@register(TAG)
def check_jobs(**_: Any) -> list[CheckMessage]:
    """arena.E005: no duel can be played."""
    if settings.DUEL_PARALLELISM >= 1:
        return []
    hint = "Set it to 1 or more, or leave it out."
    return [Error(f"DUEL_PARALLELISM is {settings.DUEL_PARALLELISM}.", hint=hint, id="arena.E005")]


@register(TAG)
def check_environments(**_: Any) -> list[CheckMessage]:
    """arena.E006: a file of a shipped environment is wrong.

    arena.W010: an environment of the organiser is left out. arena.W011: one is not used quite as in its file. Only
    `check` shows these two: other commands are not about environments, and alarms name them as well.
    """
    hint = f"Fix it, or take it out of {settings.ENVIRONMENTS_DIR}: see docs/organiser/environments.md."
    try:
        found: list[CheckMessage] = [Advice(one.because, hint=hint, id="arena.W010") for one in left_out()]
        is_command = sys.argv[0].endswith("manage.py") and sys.argv[1:2] != ["check"]
        return [] if is_command else [*found, *(Advice(note, id="arena.W011") for note in notes())]
    except BadInfo as error:
        return [Error(str(error), hint="Restore the file of this release.", id="arena.E006")]


@register(TAG)
def check_data_dir(**_: Any) -> list[CheckMessage]:
    """arena.E023: the data folder is missing or not writable."""
    problem = data_dir_problem(settings.DATA_DIR)
    return [Error(problem, hint=DATA_DIR_HINT, id="arena.E023")] if problem else []


@register(TAG)
def check_store(**_: Any) -> list[CheckMessage]:
    """arena.E026: the files are in an object store, and what asks it is not installed."""
    if "place" not in settings.STORAGES["default"].get("OPTIONS", {}) or find_spec("botocore") is not None:
        return []
    hint = "Run make extras EXTRAS=s3, or build the image with EXTRAS=s3."
    return [Error("STORAGE names an object store, but the extra s3 is not installed.", hint=hint, id="arena.E026")]


@register(TAG)
def check_limits(**_: Any) -> list[CheckMessage]:
    """arena.E010: a quota or limit is negative, or a rate is malformed."""
    numbers = {**settings.QUOTAS, **{f"anonymous_{name}": number for name, number in settings.QUOTAS_ANONYMOUS.items()}}
    hint = "Set it in QUOTAS to a number from 0 (no limit), or leave it out."
    found: list[CheckMessage] = [
        Error(f"The quota {name} is {number}.", hint=hint, id="arena.E010")
        for name, number in numbers.items()
        if number < 0
    ]
    for name, rate in settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"].items():
        if not RATE.fullmatch(rate):
            hint = "Set it in RATES to NUMBER/second, NUMBER/minute, NUMBER/hour or NUMBER/day, or leave it out."
            found.append(Error(f"The rate {name} is {rate!r}.", hint=hint, id="arena.E010"))
    return found


@register(TAG)
def check_monitoring(**_: Any) -> list[CheckMessage]:
    """arena.E020: the format of LOGS is unknown. arena.E021: METRICS_NETWORKS contains an invalid network."""
    found: list[CheckMessage] = []
    if settings.LOG_FORMAT not in LOG_FORMATS:
        hint = f"Use one of {', '.join(LOG_FORMATS)}, or leave it out."
        found.append(Error(f"LOGS: format is {settings.LOG_FORMAT!r}.", hint=hint, id="arena.E020"))
    for network in settings.METRICS_NETWORKS:
        try:
            ip_network(network, strict=False)
        except ValueError:
            hint = "Write addresses or networks, e.g. 10.0.0.7,172.16.0.0/12."
            found.append(Error(f"METRICS_NETWORKS holds {network!r}.", hint=hint, id="arena.E021"))
    return found


@register(TAG)
def check_retention(**_: Any) -> list[CheckMessage]:
    """arena.E022: a retention time is negative."""
    hint = "Set it to a number of days, or to 0 to keep forever."
    return [
        Error(f"KEEP_DAYS: {name} is {days}.", hint=hint, id="arena.E022")
        for name, days in settings.KEEP_DAYS.items()
        if days < 0
    ]


@register(TAG, deploy=True)
def check_services(**_: Any) -> list[CheckMessage]:
    """arena.W001 and arena.W002, with `check --deploy`: services that a busy site needs."""
    found: list[CheckMessage] = []
    if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        found.append(
            Advice(
                "The database is SQLite: one writer at a time, and workers on this machine only.",
                hint="Set DATABASE_URL to a PostgreSQL database.",
                id="arena.W001",
            )
        )
    if not settings.REDIS_URL:
        found.append(
            Advice(
                "Messages to workers go through the database, and every process has its own cache.",
                hint="Set REDIS_URL.",
                id="arena.W002",
            )
        )
    return found


def refuse_unsafe_start() -> None:
    """Check the settings of a program that was not started by a management command, and log the warnings.

    Raises ImproperlyConfigured with the errors and their hints.
    """
    data_dir_close(settings.DATA_DIR)
    found = run_checks(tags=[TAG])
    for message in found:
        if not message.is_serious():
            logger.warning("%s %s", message.msg, message.hint or "")
    errors = [message for message in found if message.is_serious()]
    if errors:
        raise ImproperlyConfigured("The settings of the arena are wrong.\n" + "\n".join(str(error) for error in errors))
