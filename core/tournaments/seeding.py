"""The participants of a planned tournament, in the order of their seeds."""

from __future__ import annotations

from core.models import Submission, Tournament
from core.tournaments.registration_selectors import field_list


def seeded(tournament: Tournament) -> list[Submission]:
    """The versions that take part if it begins now, the strongest first; unrated ones come last, older agents first.

    If there are more than places, those that registered first take part, or the strongest without a registration.
    """
    field, most = field_list(tournament), tournament.max_participants
    if tournament.has_registration:
        return sorted(field[:most], key=_strength)
    return sorted(field, key=_strength)[:most]


def _strength(submission: Submission) -> tuple[bool, float, int]:
    rating = getattr(submission, "rating", None)
    return rating is None, -rating.value if rating else 0.0, submission.agent_id
