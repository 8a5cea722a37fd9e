"""The order of seeds: by rating, by hand, or by lot."""

from __future__ import annotations

from hashlib import sha256

import pytest
from django.utils import timezone

from core.editions.progress import tournament_begin
from core.errors import Refused
from core.models import Environment, Submission, Tournament
from core.tests import factories
from core.tournaments.planning import tournament_replan
from core.tournaments.seeding import seeded

pytestmark = pytest.mark.django_db


def cup_of(environment: Environment, players: list[Submission], **fields: object) -> Tournament:
    cup = factories.planned(environment, **fields)
    for player in players:
        cup.registrations.create(agent=player.agent)
    return cup


def test_seeds_by_hand_come_first_and_all_others_follow_by_rating(
    environment: Environment, players: list[Submission]
) -> None:
    anna, berta, clara = players
    factories.rating(clara, 1200)
    cup = cup_of(environment, players, seeded_by="BY_HAND")
    assert seeded(cup) == [clara, anna, berta]
    tournament_replan(tournament=cup, invited=[], seeds=[berta.agent], now=timezone.now())
    assert seeded(cup) == [berta, clara, anna]
    # Another change of the plan keeps them.
    tournament_replan(tournament=cup, invited=[], now=timezone.now())
    assert seeded(cup) == [berta, clara, anna]
    tournament_replan(tournament=cup, invited=[], seeds=[], now=timezone.now())
    assert seeded(cup) == [clara, anna, berta]


def test_seeds_by_lot_follow_from_the_published_seed(environment: Environment, players: list[Submission]) -> None:
    for seed in (1, 2, 3):
        cup = cup_of(environment, players, seeded_by="DRAWN", seed=seed, starts_at=None)
        assert cup.draw_seed is None
        cup = tournament_begin(cup, now=timezone.now())
        assert cup.draw_seed == seed
        by_lot = sorted(players, key=lambda row: sha256(f"{seed} {row.agent.name}".encode()).hexdigest())
        rows = cup.participants.order_by("seeding").values_list("submission", flat=True)
        assert list(rows) == [row.pk for row in by_lot]


def test_without_a_registration_the_strongest_take_part_in_the_order_of_their_lots(
    environment: Environment, players: list[Submission]
) -> None:
    _anna, berta, clara = players
    for player, value in ((berta, 1100), (clara, 1200)):
        factories.rating(player, value)
    no_registration = {"registration_opens_at": None, "registration_closes_at": None}
    orders = set()
    for seed in range(1, 20):
        cup = factories.planned(environment, max_participants=2, seeded_by="DRAWN", seed=seed, **no_registration)
        orders.add(tuple(seeded(cup)))
    assert orders == {(berta, clara), (clara, berta)}
    with pytest.raises(Refused, match="open a registration"):
        factories.planned(environment, seeded_by="BY_HAND", **no_registration)
