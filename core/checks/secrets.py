"""System checks of secrets: those of a real site are long and cannot be guessed."""

from __future__ import annotations

import re
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.checks import CheckMessage, Error, register

from core.checks.startup import TAG

MIN_KEY_CHARACTERS, MIN_KEY_DISTINCT = 50, 5
"""The same values as in Django's deployment check security.W009."""
MIN_SECRET_CHARACTERS, MIN_SECRET_DISTINCT = 8, 4
PLACEHOLDERS = (
    "changeme",
    "changethis",
    "replace",
    "yourpassword",
    "yoursecret",
    "example",
    "insecure",
    "placeholder",
    "postgres",
    "password",
    "invitation",
    "letmein",
)
"""Prefixes of example passwords, letters only."""
WEAK_HINT = "Choose a random one, and put it into the environment or into the file that NAME_FILE names."


@register(TAG)
def check_secret_key(**_: Any) -> list[CheckMessage]:
    """arena.E003: the secret key of a real site is published or too short."""
    key = settings.SECRET_KEY
    is_long = len(key) >= MIN_KEY_CHARACTERS and len(set(key)) >= MIN_KEY_DISTINCT
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
    if len(word) < MIN_SECRET_CHARACTERS or len(set(word)) < MIN_SECRET_DISTINCT:
        return True
    if re.sub(r"[^a-z]", "", word).startswith(PLACEHOLDERS):
        return True
    return word in common_passwords()


@cache
def common_passwords() -> frozenset[str]:
    """Return Django's list of the passwords that people choose most often."""
    return frozenset(CommonPasswordValidator().passwords)
