"""System checks: settings that do not fit together are refused at start, with a hint what to do."""

from __future__ import annotations

import logging
import re
from functools import cache
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.checks import CheckMessage, Error, register, run_checks
from django.core.checks import Warning as Advice
from django.core.exceptions import ImproperlyConfigured

from arena_kit.environment.info import BadInfo
from arena_kit.environment.registry import left_out, notes
from arena_kit.folders import DATA_DIR_HINT, data_dir_problem
from arena_kit.image.labels import REPOSITORY
from core.monitoring.logs import FORMATS as LOG_FORMATS

logger = logging.getLogger(__name__)
TAG = "arena"
ENGINE_TAG = "engine"
SANDBOXES = ("docker", "kubernetes", "process")
# A socket path (sun_path) holds 108 bytes; a random folder name and "/wire.sock" follow CHANNEL_DIR.
MAX_CHANNEL_PATH = 80
ENGINE_CHECK_SECONDS = 10
PINNED = re.compile(r"[\w.-]+(:[0-9]+)?/[\w./-]+@sha256:[0-9a-f]{64}")
NODE_LABEL = re.compile(r"[\w./-]+=[\w.-]*")
RATE = re.compile(r"[1-9][0-9]*/[smhd][a-z]*")
MIN_KEY_CHARACTERS, MIN_KEY_LETTERS = 50, 5
"""The same values as in Django's deployment check security.W009."""
MIN_SECRET_CHARACTERS, MIN_SECRET_LETTERS = 8, 4
PLACEHOLDERS = ("changeme", "changethis", "replace", "yourpassword", "yoursecret", "example", "insecure", "placeholder",
                "postgres", "password", "invitation", "letmein")  # fmt: skip
"""Prefixes of example passwords, letters only."""
WEAK_HINT = "Choose a random one, and put it into the environment or into the file that NAME_FILE names."


@register(TAG)
def check_sandbox(**_: Any) -> list[CheckMessage]:
    """arena.E001: SANDBOX is unknown. arena.E002: the sandbox does not protect a real site."""
    if settings.SANDBOX not in SANDBOXES:
        hint = f"Use one of {', '.join(SANDBOXES)}."
        return [Error(f"SANDBOX is {settings.SANDBOX!r}.", hint=hint, id="arena.E001")]
    if settings.SANDBOX == "process" and not settings.DEBUG:
        return [
            Error(
                "The process sandbox does not protect this host from players.",
                hint="Set SANDBOX=docker, or DEBUG=true on a machine where only your own agents play.",
                id="arena.E002",
            )
        ]
    return []


@register(TAG)
def check_cluster(**_: Any) -> list[CheckMessage]:
    """arena.E015: lots cannot be played on a cluster with these settings."""
    if settings.SANDBOX != "kubernetes":
        return []
    found: list[CheckMessage] = []
    if not settings.PLAYER_REGISTRY:
        hint = "Set PLAYER_REGISTRY: the cluster's nodes pull the images of players from it."
        found.append(Error("SANDBOX is kubernetes, but there is no registry.", hint=hint, id="arena.E015"))
    if not PINNED.fullmatch(settings.KUBERNETES_IMAGE):
        hint = "Push the arena's image and name it as HOST/PATH@sha256:DIGEST: every node then runs the same referee."
        found.append(Error("KUBERNETES_IMAGE is no image by digest.", hint=hint, id="arena.E015"))
    if settings.KUBERNETES_LOTS < 1:
        hint = "Say how many duels, validations and evaluations a driver may play at once."
        found.append(Error("KUBERNETES_LOTS is below 1.", hint=hint, id="arena.E015"))
    if wrong := [word for word in settings.KUBERNETES_NODES if not NODE_LABEL.fullmatch(word)]:
        hint = "It is a comma-separated list of NAME=VALUE, the labels of nodes."
        found.append(Error(f"KUBERNETES_NODES has {wrong[0]!r}.", hint=hint, id="arena.E015"))
    return found


@register(TAG)
def check_secret_key(**_: Any) -> list[CheckMessage]:
    """arena.E003: the secret key of a real site is published or too short."""
    key = settings.SECRET_KEY
    is_long = len(key) >= MIN_KEY_CHARACTERS and len(set(key)) >= MIN_KEY_LETTERS
    if settings.DEBUG or (is_long and key != settings.INSECURE_SECRET_KEY and not key.startswith("django-insecure-")):
        return []
    problem = "is published in the source code" if is_long else f"has fewer than {MIN_KEY_CHARACTERS} characters"
    return [
        Error(
            f"SECRET_KEY {problem}.",
            hint="Set SECRET_KEY or SECRET_KEY_FILE to a long random text: "
            "python3 -c 'import secrets; print(secrets.token_urlsafe(50))'",
            id="arena.E003",
        )
    ]


@register(TAG)
def check_secrets(**_: Any) -> list[CheckMessage]:
    """arena.E011: a secret of a real site is easy to guess."""
    if settings.DEBUG:
        return []
    database = settings.DATABASES["default"]
    secrets = {
        "INVITATION_CODE": settings.INVITATION_CODE,
        "POSTGRES_PASSWORD (or the password in DATABASE_URL)": database.get("PASSWORD", ""),
        "The password in REDIS_URL": urlsplit(settings.REDIS_URL).password or "",
        "The password in EMAIL_URL": settings.EMAIL_HOST_PASSWORD,
        "METRICS_TOKEN": settings.METRICS_TOKEN,
    }
    return [
        Error(f"{name} is easy to guess.", hint=WEAK_HINT, id="arena.E011")
        for name, value in secrets.items()
        if value and is_guessable(value)
    ]


def is_guessable(secret: str) -> bool:
    """Return whether a secret is short, a common password, a placeholder, or a repetition of a few letters."""
    word = secret.casefold()
    if len(word) < MIN_SECRET_CHARACTERS or len(set(word)) < MIN_SECRET_LETTERS:
        return True
    if re.sub(r"[^a-z]", "", word).startswith(PLACEHOLDERS):
        return True
    return word in common_passwords()


@cache
def common_passwords() -> frozenset[str]:
    """Return Django's list of the passwords that people choose most often."""
    return frozenset(CommonPasswordValidator().passwords)


@register(TAG)
def check_channel_dir(**_: Any) -> list[CheckMessage]:
    """arena.E004: the path of CHANNEL_DIR leaves no room for a socket."""
    if len(str(settings.CHANNEL_DIR).encode()) <= MAX_CHANNEL_PATH:
        return []
    return [
        Error(
            f"CHANNEL_DIR is longer than {MAX_CHANNEL_PATH} bytes.",
            hint="The path of a Unix socket is at most 107 bytes long; choose a shorter folder.",
            id="arena.E004",
        )
    ]


@register(TAG)
def check_registry(**_: Any) -> list[CheckMessage]:
    """arena.E025: PLAYER_REGISTRY, its login or IMAGE_CACHE_BYTES is wrong."""
    found: list[CheckMessage] = []
    if settings.PLAYER_REGISTRY and not REPOSITORY.fullmatch(settings.PLAYER_REGISTRY):
        hint = (
            "Write HOST[:PORT]/PATH in small letters, without https://, e.g. registry.example.org:5000/arena/players."
        )
        found.append(Error(f"PLAYER_REGISTRY is {settings.PLAYER_REGISTRY!r}.", hint=hint, id="arena.E025"))
    if bool(settings.PLAYER_REGISTRY_USER) != bool(settings.PLAYER_REGISTRY_PASSWORD):
        hint = "Set both PLAYER_REGISTRY_USER and PLAYER_REGISTRY_PASSWORD, or neither."
        found.append(Error("The login at the registry is incomplete.", hint=hint, id="arena.E025"))
    if settings.IMAGE_CACHE_BYTES < 0:
        hint = "Set it to a number of bytes from 0, or leave it out."
        found.append(Error(f"IMAGE_CACHE_BYTES is {settings.IMAGE_CACHE_BYTES}.", hint=hint, id="arena.E025"))
    return found


@register(TAG, deploy=True)
def check_base_images_are_pinned(**_: Any) -> list[CheckMessage]:
    """arena.W012, with `check --deploy`: build workers of several hosts may have different base images."""
    names = {*settings.PLAYER_BASE_IMAGES.values(), *settings.SCRIPT_BASE_IMAGE.values()}
    loose = sorted(name for name in names if "@sha256:" not in name)
    if not settings.PLAYER_REGISTRY or not loose:
        return []
    return [
        Advice(
            f"Build workers on several hosts may have different images under the name {loose[0]}.",
            hint="Push it to the registry and name it by its digest, see docs/operator/several-hosts.md. "
            "Ignore this if one host builds.",
            id="arena.W012",
        )
    ]


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

    arena.W010: an environment of the organiser is left out. arena.W011: one is not used quite as its file says.
    """
    hint = f"Mend it, or take it out of {settings.ENVIRONMENTS_DIR}: see docs/organiser/environments.md."
    try:
        found: list[CheckMessage] = [Advice(one.because, hint=hint, id="arena.W010") for one in left_out()]
        return [*found, *(Advice(note, id="arena.W011") for note in notes())]
    except BadInfo as error:
        return [Error(str(error), hint="Restore the file of this release.", id="arena.E006")]


@register(TAG)
def check_data_dir(**_: Any) -> list[CheckMessage]:
    """arena.E023: the data folder is missing or not writable."""
    problem = data_dir_problem(settings.DATA_DIR)
    return [Error(problem, hint=DATA_DIR_HINT, id="arena.E023")] if problem else []


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
    """arena.E020: LOG_FORMAT is unknown. arena.E021: METRICS_NETWORKS contains an invalid network."""
    found: list[CheckMessage] = []
    if settings.LOG_FORMAT not in LOG_FORMATS:
        hint = f"Use one of {', '.join(LOG_FORMATS)}, or leave it out."
        found.append(Error(f"LOG_FORMAT is {settings.LOG_FORMAT!r}.", hint=hint, id="arena.E020"))
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
    names = sorted(name for name in set(dir(settings)) if name.startswith("KEEP_") and name.endswith("_DAYS"))
    hint = "Set it to a number of days, or to 0 to keep forever."
    return [
        Error(f"{name} is {getattr(settings, name)}.", hint=hint, id="arena.E022")
        for name in names
        if getattr(settings, name) < 0
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


@register(ENGINE_TAG, deploy=True)
def check_engine(**_: Any) -> list[CheckMessage]:
    """arena.W003 and arena.W004, with `check --deploy`: limits that this machine's engine does not enforce."""
    if settings.SANDBOX != "docker":
        return []
    # Imported here because every command of the site imports this module.
    from docker.errors import DockerException
    from requests import RequestException

    from arena_kit.image.engine import NoEngine, connect, missing_limits

    try:
        client = connect(ENGINE_CHECK_SECONDS)
        try:
            missing = missing_limits(client.info())
        finally:
            client.close()
    except (NoEngine, DockerException, RequestException):
        message = "No Docker engine answers here, so its limits cannot be checked."
        return [Advice(message, hint="Ignore this on a machine without builds and duels.", id="arena.W003")]
    hint = (
        "Players can use more than their share: see docs/operator/security-checklist.md, "
        "and run `manage.py sandbox_check`."
    )
    return [
        Advice(f"The Docker engine does not enforce this limit of a container: {name}.", hint=hint, id="arena.W004")
        for name in missing
    ]


def refuse_unsafe_start() -> None:
    """Check the settings of a program that was not started by a management command, and log the warnings.

    Raises ImproperlyConfigured with the errors and their hints.
    """
    found = run_checks(tags=[TAG])
    for message in found:
        if not message.is_serious():
            logger.warning("%s %s", message.msg, message.hint or "")
    errors = [message for message in found if message.is_serious()]
    if errors:
        raise ImproperlyConfigured("The settings of the arena are wrong.\n" + "\n".join(str(error) for error in errors))
