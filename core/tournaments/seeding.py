"""The participants of a planned tournament, in the order of their seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arena_kit.ranking.pairing import lot
from core.models import Agent, Registration, Seeding, Submission, Tournament
from core.tournaments.registration_selectors import field_list


def seeded(tournament: Tournament) -> list[Submission]:
    """The versions that take part if it begins now, the best seed first.

    If there are more than places, those that registered first take part, or the strongest without a registration.
    """
    field, most = field_list(tournament), tournament.max_participants
    if not tournament.has_registration:
        field.sort(key=_strength)
    return sorted(field[:most], key=_order(tournament))


def seeds_set(*, tournament: Tournament, agents: Sequence[Agent]) -> None:
    """Give registered agents their seeds, the first of them the best; all others come after them by rating."""
    place = {agent.pk: number for number, agent in enumerate(agents, start=1)}
    rows = list(tournament.registrations.all())
    for row in rows:
        row.seed = place.get(row.agent_id)
    Registration.objects.bulk_update(rows, ["seed"])


def _order(tournament: Tournament) -> Callable[[Submission], tuple[object, ...]]:
    """Return the key by which the versions that take part are sorted."""
    if tournament.seeded_by == Seeding.DRAWN:
        return lambda submission: (lot(tournament.seed, submission.agent.name),)
    if tournament.seeded_by == Seeding.BY_HAND:
        given = dict(tournament.registrations.exclude(seed=None).values_list("agent", "seed"))
        return lambda submission: (given.get(submission.agent_id, len(given) + 1), *_strength(submission))
    return _strength


def _strength(submission: Submission) -> tuple[bool, float, int]:
    """The strongest come first, unrated ones last, older agents first."""
    rating = getattr(submission, "rating", None)
    return rating is None, -rating.value if rating else 0.0, submission.agent_id
