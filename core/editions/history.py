"""Recomputes ratings of the past from what the ledger held then."""

from __future__ import annotations

from core.editions.fits import compute
from core.models import Environment, RatingPoint
from core.ratings.services import KEPT, rating_points_replace


def history_refresh(environment: Environment) -> int:
    """Compute every moment of an environment's history anew and write what differs; return how many points differed.

    The stored moment says which submissions were ranked, because nothing else records it; those without results that
    count are deleted from it. Every moment needs a fit, so this may take long.
    """
    points = RatingPoint.objects.filter(environment=environment)
    changed = 0
    for at in points.order_by("at").values_list("at", flat=True).distinct():
        rows = list(points.filter(at=at).order_by("submission"))
        found = {
            row.submission_id: row
            for row in compute(environment, at=at, among={row.submission_id for row in rows}).ratings
        }
        differing, gone = [], []
        for row in rows:
            rating = found.get(row.submission_id)
            if rating is None:
                gone.append(row)
            elif any(getattr(row, name) != getattr(rating, name) for name in KEPT):
                for name in KEPT:
                    setattr(row, name, getattr(rating, name))
                differing.append(row)
        rating_points_replace(changed=differing, gone=gone)
        changed += len(differing) + len(gone)
    return changed
