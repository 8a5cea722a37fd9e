"""The seeds of duels, from which their openings follow."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from arena_kit.environment.openings import opening_of
from arena_kit.environment.registry import get_spec
from arena_kit.referee.match import pair_seed
from core.duels.seeds import duel_seed
from core.models import Environment, Submission
from core.tests import factories
from core.tournaments.rounds import Pairing, duels_draw
from core.tournaments.services import tournament_create


def players(environment: Environment) -> list[Submission]:
    return [factories.ready(factories.agent(factories.user(name), environment)) for name in ("ann", "ben", "cleo")]


def test_a_seed_is_shared_by_encounter_and_period_where_there_are_openings() -> None:
    def seed(version: str = "quarto-v2", own: int = 1, **fields: object) -> int:
        return duel_seed(environment_version=version, own=own, **{"tournament_seed": 7, "encounter": 0, **fields})  # type: ignore[arg-type]  # the test's own names

    assert seed(own=5) == seed(own=6)
    assert 0 <= seed() < 2**31
    others = [seed(encounter=1), seed(tournament_seed=8), seed(period="2026-11-23"), seed(period="2026-11-24")]
    assert len({seed(), *others}) == 5
    assert seed("quarto-v1", own=5) == 5
    assert seed("gone-v9", own=6) == 6


def test_the_seeds_of_duels_with_chance_do_not_follow_from_those_of_earlier_ones(settings: Settings) -> None:
    def seed(own: int) -> int:
        return duel_seed(environment_version="pong-v1", tournament_seed=7, own=own, encounter=0)

    known = [seed(own) for own in range(8, 12)]
    assert known == [seed(own) for own in range(8, 12)]
    assert len(set(known)) == 4
    assert not set(known) & set(range(20))
    assert all(0 <= each < 2**31 for each in known)
    # They need the arena's own secret.
    settings.SECRET_KEY = "another" * 10
    assert not set(known) & {seed(own) for own in range(8, 12)}


@pytest.mark.django_db
@pytest.mark.parametrize(("slug", "is_shared"), [("connect-four", True), ("connect-four-v1", False)])
@pytest.mark.slow
def test_all_pairs_of_an_edition_share_the_list_of_openings(slug: str, is_shared: bool) -> None:
    environment = factories.environment(slug)
    ann, ben, cleo = players(environment)
    rounds = [[(ann, ben)], [(cleo, ann)], [(ben, cleo)]]

    edition = tournament_create(
        environment=environment, edition=1, submissions=[ann, ben, cleo], rounds=rounds, seed=1000
    )
    seeds = set(edition.duels.values_list("seed", flat=True))
    spec = get_spec(environment.spec_id)
    openings = {tuple(opening_of(spec, pair_seed(seed, pair)) for pair in range(5)) for seed in seeds}

    assert len(seeds) == (1 if is_shared else 3)
    assert len(openings) == 1


@pytest.mark.django_db
def test_duels_of_an_organisers_tournament_share_openings_until_two_meet_again() -> None:
    environment = factories.environment("quarto")
    ann, ben, cleo = (player.pk for player in players(environment))
    tournament = tournament_create(environment=environment, edition=1, submissions=[], rounds=[], seed=7)

    duels_draw(
        tournament=tournament,
        pairings=[
            Pairing(1, ann, ben, 11, 4), Pairing(1, cleo, ann, 12, 4), Pairing(2, ben, ann, 13, 4, encounter=100),
        ],
    )  # fmt: skip

    first, second, third = tournament.duels.order_by("number").values_list("seed", flat=True)
    assert first == second != third
