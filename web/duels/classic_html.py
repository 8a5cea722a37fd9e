"""The HTML of classic environments on the site's own pages, which load pictures and styles from the static files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.conf import settings

from arena_kit.environment.adapters.classic.html import AddressOf, Head, head_of, html_of
from arena_kit.environment.protocol import ArenaEnvironmentError, Frame
from arena_kit.environment.spec import EnvironmentSpec


def address_in(spec: EnvironmentSpec) -> AddressOf:
    """Return what gives the address of a file in an environment's `static/`."""
    return lambda name: f"{settings.STATIC_URL}environments/{spec.slug}/{name}"


def style_head(spec: EnvironmentSpec) -> Head | None:
    """Return what styles the HTML of a classic environment; None for others, and where it cannot be asked."""
    if spec.classic is None:
        return None
    try:
        return head_of(spec, address_in(spec))
    except ArenaEnvironmentError:
        return None


def painter(spec: EnvironmentSpec) -> Callable[[Frame], str] | None:
    """Return what draws the HTML of a classic environment; None for others."""
    return None if spec.classic is None else partial(html_of, spec, address_of=address_in(spec))
