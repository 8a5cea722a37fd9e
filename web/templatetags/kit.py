"""A tag with the command that installs arena-kit from this site."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from web.kit.parts import install_command

register = template.Library()


@register.simple_tag(takes_context=True)
def kit_install(context: dict[str, Any], extras: str = "") -> SafeString:
    """Return the command, in quotes as a shell needs them. extras: optional parts, e.g. `docker,gymnasium`."""
    return format_html("{}", install_command(context["request"], extras))
