"""The participants of a planned tournament, in the order of their seeds."""

from __future__ import annotations

from functools import partial
from hashlib import sha256

from core.models import Submission, Tournament
from core.tournaments.registration_selectors import field_list


def seeded(tournament: Tournament, *, seed: int) -> list[Submission]:
    """The versions that take part if it begins now, the strongest first; those without a rating come last, by lot.

    If there are more than places, those that registered first take part, or the strongest without a registration.
    seed: of the lot. Otherwise the oldest of equal new agents would have the best seed, which decides ties.
    """
    field, most, order = field_list(tournament), tournament.max_participants, partial(_order, seed)
    if tournament.has_registration:
        return sorted(field[:most], key=order)
    return sorted(field, key=order)[:most]


def _order(seed: int, submission: Submission) -> tuple[bool, float, str]:
    rating = getattr(submission, "rating", None)
    lot = sha256(f"{seed} {submission.agent_id}".encode()).hexdigest()
    return rating is None, -rating.value if rating else 0.0, lot
