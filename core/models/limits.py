"""Conditions for check constraints of several models."""

from __future__ import annotations

from django.db.models import Q

LARGEST = 1e300
"""Larger than any score. In every database NaN fails the comparison with it."""


def finite(*names: str) -> Q:
    """Return the condition that columns are neither infinite nor NaN. NULL passes."""
    found = Q()
    for name in names:
        found &= Q(**{f"{name}__gte": -LARGEST, f"{name}__lte": LARGEST})
    return found


def positive(*names: str) -> Q:
    """Return the condition that columns are 1 or more."""
    found = Q()
    for name in names:
        found &= Q(**{f"{name}__gte": 1})
    return found
