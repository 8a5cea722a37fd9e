"""The wheel on pages and in the index: its addresses and the commands that install it."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from web.kit.wheel import Wheel, wheel

LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


def wheel_served() -> Wheel:
    """Return the wheel of this arena's own arena-kit."""
    return wheel(settings.BASE_DIR)


def wheel_path(served: Wheel) -> str:
    """Return the path of exactly this wheel, whose content never changes."""
    return reverse("web:kit_file", args=[served.sha256, served.filename])


def install_command(request: HttpRequest, extras: str = "") -> str:
    """Return the command that installs arena-kit from this site; other packages come from the reader's own index.

    The address of the wheel is named instead of an index: with a second index, pip would take a package of the same
    name and a higher version from whichever has it.
    """
    served = wheel_served()
    address = request.build_absolute_uri(reverse("web:kit_latest", args=[served.filename.removesuffix(".whl")]))
    parts = urlsplit(address)
    # pip refuses plain HTTP, except from this machine.
    trusted = "" if parts.scheme == "https" or parts.hostname in LOCAL_HOSTS else f"--trusted-host {parts.hostname} "
    name = f"{served.name}[{extras}]" if extras else served.name
    return f'pip install {trusted}"{name} @ {address}"'
