"""Who takes part in a planned tournament, in the order of seeds."""

from __future__ import annotations

from core.models import Submission, Tournament
from core.tournaments.registration_selectors import field_list


def seeded(tournament: Tournament) -> list[Submission]:
    """Who takes part if it begins now, the strongest first; those without a rating come last, older agents first.

    Of more than there is room for: who registered first, or where nobody registers the strongest.
    """
    field, most = field_list(tournament), tournament.max_participants
    if tournament.has_registration:
        return sorted(field[:most], key=_strength)
    return sorted(field, key=_strength)[:most]


def _strength(submission: Submission) -> tuple[bool, float, int]:
    rating = getattr(submission, "rating", None)
    return rating is None, -rating.value if rating else 0.0, submission.agent_id
