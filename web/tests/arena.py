"""A small arena with one played duel: who is in it, for the tests of everything that shows duels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from arena_kit.environment.records import DuelRecord
from core.duels.selectors import records_open
from core.jobs.artifacts import artifacts_stored
from core.models import Duel, Environment, Submission, Tournament
from core.tests import factories
from core.tests.factories import Cast
from web.tests import played

MATCH_COUNT = 60


@dataclass(frozen=True, slots=True)
class Stage:
    """anna (alice's, private) is player 1 of `duel`, berta (bob's, private) player 2; clara is charlie's, public."""

    environment: Environment
    tournament: Tournament
    anna: Submission
    berta: Submission
    clara: Submission
    duel: Duel


def staged(cast: Cast, environment: Environment, match_count: int = MATCH_COUNT) -> Stage:
    """The duel of anna and berta is played; anna forfeits match 3, berta forfeits matches 4 and 6."""
    anna = played.ready(factories.agent(cast.alice, environment, "anna"))
    berta = played.ready(factories.agent(cast.bob, environment, "berta"))
    clara = played.ready(factories.agent(cast.charlie, environment, "clara", is_public=True))
    tournament = played.edition([anna, berta, clara], environment)
    duel = played.play(played.waiting_duel(tournament, anna, berta, match_count), faults_of_1={3}, faults_of_2={4, 6})
    return Stage(environment, tournament, anna, berta, clara, duel)


def damage_match(duel: Duel, number: int, **fields: object) -> None:
    """Replace the records of a duel by ones in which a match has other fields: well formed, but not true."""
    with records_open(duel) as archive:
        record = archive.record()
    changed: dict[str, Any] = dict(fields)
    matches = tuple(replace(match, **changed) if match.number == number else match for match in record.matches)
    store(duel, replace(record, matches=matches))


def store(duel: Duel, record: DuelRecord) -> None:
    """Replace the records of a duel."""
    with artifacts_stored(job=duel, record=record, player_logs=("", ""), digests=("", "")) as artifacts:
        Duel.objects.filter(pk=duel.pk).update(records=artifacts.records)
    duel.refresh_from_db()


def lose_files(duel: Duel) -> None:
    """Remove what a duel has stored, as a broken disk or a careless person would."""
    for file in (duel.records, duel.player_1_log):
        file.storage.delete(str(file.name))
