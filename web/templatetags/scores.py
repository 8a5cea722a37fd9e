"""Scores, short times and reasons as pages write them."""

from __future__ import annotations

from django import template
from django.template import Context

from core.models import Job
from core.selectors.visibility import error_shown

register = template.Library()


@register.filter
def figure(value: float | None) -> str:
    """A score with the digits that tell something: 487.3, 0.74, −1234, 1.5e+07."""
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
    """A difference, with its sign: +3.2, −0.5, 0."""
    text = figure(value)
    return f"+{text}" if value is not None and value > 0 and text != "0" else text


@register.filter
def brief(seconds: float | None) -> str:
    """A short time: 45 µs, 1.2 ms, 3.4 s."""
    if seconds is None:
        return "–"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        # From here on three digits round up to 1 of this unit, where the smaller one would need 1e+03.
        if seconds * factor >= 0.9995 or unit == "µs":
            return f"{float(f'{seconds * factor:.3g}'):g} {unit}"
    raise AssertionError


@register.simple_tag(takes_context=True)
def reason(context: Context, job: Job) -> str:
    """Why a job failed, as far as the person who looks may know it; the page says whether they may see the source."""
    return error_shown(job, context["user"], can_see_source=bool(context.get("can_see_source")))
