"""System checks: settings that do not fit together are refused at start, with what to do."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

SANDBOXES = ("docker", "process")
# sun_path holds 108 bytes; a random folder name and "/wire.sock" follow.
MAX_CHANNEL_PATH = 80


@register()
def check_settings(**_: Any) -> list[CheckMessage]:
    """arena.E001 to E004."""
    found: list[CheckMessage] = []
    if settings.SANDBOX not in SANDBOXES:
        found.append(
            Error(f"SANDBOX is {settings.SANDBOX!r}.", hint=f"Use one of {', '.join(SANDBOXES)}.", id="arena.E001")
        )
    if settings.SANDBOX == "process" and not settings.DEBUG:
        found.append(
            Error(
                "The process sandbox does not protect this host from players.",
                hint="Set SANDBOX=docker, or DEBUG=true on a machine where only your own agents play.",
                id="arena.E002",
            )
        )
    if settings.SECRET_KEY == settings.INSECURE_SECRET_KEY and not settings.DEBUG:
        found.append(
            Error(
                "SECRET_KEY is the one that everybody knows.",
                hint="Set SECRET_KEY or SECRET_KEY_FILE to a long random text.",
                id="arena.E003",
            )
        )
    if len(str(settings.CHANNEL_DIR).encode()) > MAX_CHANNEL_PATH:
        found.append(
            Error(
                f"CHANNEL_DIR is longer than {MAX_CHANNEL_PATH} bytes.",
                hint="The path of a Unix socket is at most 107 bytes long; choose a shorter folder.",
                id="arena.E004",
            )
        )
    return found
