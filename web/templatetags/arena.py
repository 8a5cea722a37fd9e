"""Filters and tags for numbers, times, Markdown, pictures, badges, charts and the command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import nh3
from django import template
from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

from arena_kit.ranking.formats import format_name
from arena_kit.referee.tracebacks import without_folders
from core.environments.availability import DEFAULT_PICTURE
from core.models import Environment
from core.models.zoned import Zoned
from core.times import moment as moment_in_words
from web.docs.rendering import anchor_of
from web.kit.parts import install_command

register = template.Library()

GLOSSARY = "participant/glossary"
"""The name of the page that explains the words of the site."""

SEPARATOR = "\u00a0· "
"""Between links of a line: it does not begin the next one."""

STATE_TONES = {"SUCCEEDED": "good", "FAILED": "bad", "RUNNING": "busy", "QUEUED": "calm", "CANCELLED": "calm"}


PICTURE = re.compile(r"/static/environment(?:s/|-)([\w-]+)/(\w[\w.-]*)", re.ASCII)
"""The address of a file of an environment: its slug, and the name of the file."""


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("image", _picture)
    return parser


def _picture(renderer: Any, tokens: Any, index: int, options: Any, given: Any) -> str:
    """Return a picture of the environment that is described, and of any other only its words."""
    words = renderer.renderInlineAsText(tokens[index].children, options, given)
    found = PICTURE.fullmatch(str(tokens[index].attrGet("src")))
    if found is None or found[1] != given["slug"]:
        return escape(words)
    return format_html('<img src="{}" alt="{}">', reverse("web:environment_file", args=found.groups()), words)


@register.filter
def markdown(text: str, slug: str = "") -> SafeString:
    """Render Markdown as sanitised HTML: no raw HTML, links only to http, https and mailto.

    slug: of the environment whose own pictures are shown; without it there are none.
    """
    html = nh3.clean(
        _markdown().render(text, {"slug": slug}),
        tags={
            "p",
            "h1",
            "h2",
            "h3",
            "h4",
            "ul",
            "ol",
            "li",
            "strong",
            "em",
            "code",
            "pre",
            "blockquote",
            "a",
            "br",
            "hr",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "img",
        },
        attributes={"a": {"href", "title"}, "img": {"src", "alt"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener noreferrer",
    )
    return mark_safe(html)  # noqa: S308  (sanitised above)


@register.filter
def state_tone(state: str) -> str:
    """Return the CSS tone of a job's state."""
    return STATE_TONES.get(state, "calm")


@register.filter
def number(value: float | None) -> str:
    """Write a score without needless digits: 3, 2.5, −1."""
    if value is None:
        return "–"
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return text.replace("-", "−") if text not in ("-0", "") else "0"


register.filter("format_name", format_name)
register.filter("without_folders", without_folders)


@register.simple_tag
def glossary(*words: str) -> SafeString:
    """Write a line of words that a reader may not know, each with a link to its heading in the glossary."""
    page = reverse("web:doc", args=[GLOSSARY])
    links = format_html_join(
        SEPARATOR, '<a id="word-{1}" href="{0}#{1}">{2}</a>', ((page, anchor_of(word), word) for word in words)
    )
    last = format_html('{}<a href="{}">all\u00a0words</a>', SEPARATOR, page)
    return format_html('<p class="muted words">What the words mean: {}{}</p>', links, last)


@register.filter
def moment(value: datetime) -> SafeString:
    """Write a moment in UTC, readable by people and programs; a script shows it in the reader's zone."""
    return format_html('<time datetime="{}">{}</time>', _utc(value), moment_in_words(value, "UTC"))


@register.filter
def moment_of(value: datetime, row: Zoned) -> SafeString:
    """Write a moment in the zone of its tournament or season, as sentences about that do."""
    words = row.moment(value)
    return format_html('<time datetime="{}" data-zone>{}</time>', _utc(value), words)


@register.filter
def countdown(value: datetime, row: Zoned) -> SafeString:
    """Write a moment to come in the zone of its tournament; a script adds how long it is until then."""
    words = row.moment(value)
    return format_html('<time datetime="{}" data-zone data-countdown>{}</time>', _utc(value), words)


def _utc(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(timespec="seconds")


@register.filter
def day(value: datetime) -> SafeString:
    """Write the day of a moment, in UTC."""
    utc = value.astimezone(UTC)
    return format_html('<time datetime="{}">{}</time>', utc.isoformat(timespec="seconds"), f"{utc:%-d %b %Y}")


@register.filter
def clock(value: datetime) -> SafeString:
    """Write the time of day of a moment, in UTC."""
    utc = value.astimezone(UTC)
    return format_html('<time datetime="{}">{} UTC</time>', utc.isoformat(timespec="seconds"), f"{utc:%H:%M}")


@register.filter
def coded(sentence: str) -> SafeString:
    """Write a sentence with what stands between backticks as code."""
    words = sentence.split("`")
    if len(words) % 2 == 0:
        return format_html("{}", sentence)
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", word) if n % 2 else word,) for n, word in enumerate(words))
    )


@register.filter
def took(job: object) -> str:
    """Write how long a job ran: 0.4 s, 12 s, 3 min; empty if it has not ended."""
    started: datetime | None = getattr(job, "started_at", None)
    ended: datetime | None = getattr(job, "ended_at", None)
    if started is None or ended is None:
        return ""
    seconds = max(timedelta(0), ended - started).total_seconds()
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


@register.filter
def sentence(text: str) -> str:
    """End a reason that a person wrote with a full stop."""
    return text if text.rstrip().endswith((".", "!", "?", "…")) else f"{text.rstrip()}."


@register.filter
def span(seconds: float) -> str:
    """Write a limit of time: 45 s, 2 min, 2.5 min."""
    return f"{seconds:g} s" if seconds < 60 else f"{seconds / 60:.1f}".removesuffix(".0") + " min"


@register.simple_tag
def picture(environment: Environment) -> str:
    """Return the address of an environment's picture, or of the default picture if the site lacks the file."""
    if environment.image.startswith("/"):
        return environment.image  # of an environment from outside, whose folder the site serves
    try:
        return static(environment.image)
    except ValueError:
        # In production, the manifest lists only files of its own checkout.
        return static(DEFAULT_PICTURE)


@register.simple_tag
def badge(label: str, tone: str) -> SafeString:
    """Return a small coloured label."""
    return format_html('<span class="badge badge-{}">{}</span>', tone, label)


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


@register.simple_tag(takes_context=True)
def kit_install(context: dict[str, Any], extras: str = "") -> SafeString:
    """Return the command, in quotes as a shell needs them. extras: optional parts, e.g. `docker,gymnasium`."""
    return format_html("{}", install_command(context["request"], extras))
