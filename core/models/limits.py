"""Conditions that several models hold their columns to."""

from __future__ import annotations

from django.db.models import Q

LARGEST = 1e300
"""No score comes near; what is not a number is not below it, in any database."""


def finite(*names: str) -> Q:
    """Columns that are numbers, neither infinite nor NaN. An empty one passes, where it may be."""
    found = Q()
    for name in names:
        found &= Q(**{f"{name}__gte": -LARGEST, f"{name}__lte": LARGEST})
    return found


def positive(*names: str) -> Q:
    """Columns that are 1 or more."""
    found = Q()
    for name in names:
        found &= Q(**{f"{name}__gte": 1})
    return found
