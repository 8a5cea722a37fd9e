"""Filters and tags for scores, ratings, short times and reasons of failure."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from core.models import Job
from core.submissions.visibility import error_shown
from web.site.numbers import ordinal

register = template.Library()
register.filter("ordinal", ordinal)


@register.filter
def figure(value: float | None) -> str:
    """Write a score with its significant digits: 487.3, 0.74, −1234, 1.5e+07."""
    if value is None:
        return "–"
    size = abs(value)
    if size >= 1e7 or 0 < size < 1e-3:
        text = f"{value:.3g}"
    elif size >= 1000:
        text = f"{value:.0f}"
    else:
        text = f"{value:.{1 if size >= 100 else 2 if size >= 1 else 3}f}"
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "−") if text not in ("-0", "") else "0"


@register.filter
def signed(value: float | None) -> str:
    """Write a difference with its sign: +3.2, −0.5, 0."""
    text = figure(value)
    return f"+{text}" if value is not None and value > 0 and text != "0" else text


@register.filter
def brief(seconds: float | None) -> str:
    """Write a short time: 45 µs, 1.2 ms, 3.4 s."""
    if seconds is None:
        return "–"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        # Three digits of 0.9995 round up to 1; the next smaller unit would print 1e+03.
        if seconds * factor >= 0.9995 or unit == "µs":
            return f"{float(f'{seconds * factor:.3g}'):g} {unit}"
    raise AssertionError


@register.filter
def percent(share: float) -> str:
    """Write a share of matches: 62%."""
    return f"{100 * share:.0f}%"


@register.filter
def percent_points(difference: float) -> str:
    """Write a difference of shares in percentage points: +7.4, −0.5, 0."""
    return signed(round(100 * difference, 1))


@register.filter
def change(points: float) -> str:
    """Write a change of a rating in whole points, with its sign: +12, −7, 0."""
    return signed(round(points))


@register.filter
def margin(low: float, high: float) -> str:
    """Write half the width of a rating's interval: ± 28."""
    return f"± {(high - low) / 2:.0f}"


@register.filter
def rank_range(best: int, worst: int) -> str:
    """Write a range of ranks: 2nd to 5th, or 2nd."""
    return ordinal(best) if best == worst else f"{ordinal(best)} to {ordinal(worst)}"


@register.filter
def chance(probability: float) -> str:
    """Write a probability that is known to about one per cent: 12%, under 1%, over 99%."""
    if probability < 0.01:
        return "under 1%"
    return "over 99%" if probability > 0.99 else f"{100 * probability:.0f}%"


@register.filter
def whole(value: float) -> str:
    """Write a number without its decimals: 0, −412."""
    return str(round(value)).replace("-", "−")


@register.filter
def marks(value: Decimal) -> str:
    """Write marks without zeros at the end: 8, 7.5, 87.25."""
    return f"{value.quantize(Decimal('0.01')):f}".rstrip("0").rstrip(".")


@register.filter
def share(value: float) -> str:
    """Write a share in per cent, exact near both ends: 62%, 0.4%, 99.6%, 100%."""
    percent = 100 * value
    near_the_end = 0 < percent < 1 or 99 < percent < 100
    return f"{min(99.9, max(0.1, percent)):.1f}%" if near_the_end else f"{percent:.0f}%"


@register.simple_tag(takes_context=True)
def reason(context: Context, job: Job) -> str:
    """Return why a job failed, as far as the viewer may know it; the context has `can_see_source`."""
    return error_shown(job, context["user"], can_see_source=bool(context.get("can_see_source")))


NO_RATING = format_html('<td role="cell" class="rating" data-label="Rating"><span class="muted">{}</span></td>', "–")
RATING = """<td role="cell" class="rating" data-label="Rating"><span
  class="one-line"><strong>{}</strong> <span
  class="interval">{}</span>{}</span></td>"""
WHISKER = """
        <svg class="whisker" aria-hidden="true"><line class="axis" x1="0" x2="100%" y1="50%" y2="50%"/><line
          class="span" x1="{}%" x2="{}%" y1="50%" y2="50%"/><circle class="value" cx="{}%" cy="50%"
          r="4"/></svg>"""
LIKELY = """
      <td role="cell" class="likely" data-label="Likely rank">{}</td>"""
NOT_LIKELY = format_html(LIKELY, format_html('<span class="muted">{}</span>', "–"))
BEST = """, <span class="muted">{}<span class="sr"> chance to be the</span> best</span>"""


@register.filter
def rating_cell(rating: Any) -> SafeString:
    """Write a rating with its interval as a cell of a board: a template for each of hundreds takes long."""
    if not rating:
        return NO_RATING
    interval = "fixed" if rating.is_reference else "" if rating.low is None else margin(rating.low, rating.high)
    at = getattr(rating, "whisker", None)
    drawn = format_html(WHISKER, at.low, at.high, at.value) if at else ""
    return format_html(RATING, f"{rating.value:.0f}", interval, drawn)


@register.filter
def likely_cell(rating: Any) -> SafeString:
    """Write the likely rank as a cell of a board."""
    if not rating or not rating.best_rank:
        return NOT_LIKELY
    best = format_html(BEST, chance(rating.best_chance)) if (rating.best_chance or 0) >= 0.01 else ""
    return format_html(LIKELY, format_html("{}{}", rank_range(rating.best_rank, rating.worst_rank), best))
