"""A tag that loads the chart library."""

from __future__ import annotations

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def chart_library() -> SafeString:
    """Return what the head of a page with charts loads; empty if the library is not installed."""
    if not settings.CHART_LIBRARY.is_dir():
        return SafeString()
    return format_html(
        '<link rel="stylesheet" href="{}"><link rel="stylesheet" href="{}">'
        '<script src="{}" defer></script><script src="{}" defer></script>',
        static("uplot/uPlot.min.css"),
        static("web/plots.css"),
        static("uplot/uPlot.iife.min.js"),
        static("web/plots.js"),
    )
