"""The wheel on pages and in the index: its addresses and the commands that install it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from web.kit.wheel import Wheel, wheel

ALLOW = "Set-ExecutionPolicy RemoteSigned -Scope Process -Force"
"""Windows runs no script, and so activates no environment, before this; it holds for the window."""
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Way:
    """A way to install arena-kit. commands: a line each, as that shell takes them."""

    title: str
    commands: str


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
    return f"pip install {_trusted(request, '--trusted-host')}{_requirement(request, extras)}"


def install_ways(request: HttpRequest, extras: str) -> list[Way]:
    """Return the ways to install arena-kit, the visitor's own system first."""
    install = install_command(request, extras)
    ways = [
        Way("Linux and macOS", f"python3 -m venv arena-env && . arena-env/bin/activate\n{install}"),
        Way("Windows, in PowerShell", f"py -m venv arena-env\n{ALLOW}\narena-env\\Scripts\\Activate.ps1\n{install}"),
        Way("A notebook", f"%pip install -q {install.removeprefix('pip install ')}"),
        Way("uv", f"uv tool install {_trusted(request, '--allow-insecure-host')}{_requirement(request, extras)}"),
        Way("conda", f"conda create -y -n arena python=3.12\nconda activate arena\n{install}"),
    ]
    is_windows = "Windows" in request.headers.get("User-Agent", "")
    return sorted(ways, key=lambda way: way.title.startswith("Windows") != is_windows) if is_windows else ways


def _requirement(request: HttpRequest, extras: str) -> str:
    served = wheel_served()
    address = request.build_absolute_uri(reverse("web:kit_latest", args=[served.filename.removesuffix(".whl")]))
    name = f"{served.name}[{extras}]" if extras else served.name
    return f'"{name} @ {address}"'


def _trusted(request: HttpRequest, option: str) -> str:
    """Return the option for a site without TLS, which installers refuse except on this machine."""
    parts = urlsplit(request.build_absolute_uri("/"))
    return "" if parts.scheme == "https" or parts.hostname in LOCAL_HOSTS else f"{option} {parts.hostname} "
