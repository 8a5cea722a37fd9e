"""Small tournaments that are played while something fails, and what is counted afterwards."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_django.fixtures import Settings

from arena_kit.ranking.standings import Entry, Standing, duel_results, standings
from core.models import Duel, Environment, JobState, LedgerEntry, Submission
from core.tests.working import run
from tests.kubernetes.playing import Built, duel_of
from tests.samples import FIRST, LAST, MIDDLE
from tests.workplaces import leave_workplace

SOURCES = (FIRST, MIDDLE, LAST)
ENTRIES = 4
"""Rows of the ledger for each duel: two sides, each from both seats."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a tournament has come to. attempts: of all duels together. faults: by code, in the duels' histories."""

    what: str
    duels: int
    attempts: int
    lost: int
    doubled: int
    jobs_left_over: int
    standings_equal: bool
    records_equal: bool
    faults: dict[str, int]

    def is_well(self) -> bool:
        """Return whether nothing was lost, doubled, left over or played otherwise."""
        return not (self.lost or self.doubled or self.jobs_left_over) and self.standings_equal and self.records_equal

    def __str__(self) -> str:
        faults = ", ".join(f"{count} {code}" for code, count in self.faults.items()) or "no fault"
        equal = "equal" if self.standings_equal and self.records_equal else "NOT EQUAL"
        return (
            f"{self.what}: {self.duels} duels in {self.attempts} attempts ({faults}); lost {self.lost}, "
            f"doubled {self.doubled}, Jobs left over {self.jobs_left_over}; standings and records {equal}"
        )


def tournament(environment: Environment, built: Built, sources: Sequence[str] = SOURCES) -> list[Duel]:
    """Put the duels of all pairs of some agents in line."""
    players = [built(environment, f"agent {number}", source) for number, source in enumerate(sources)]
    return [duel_of(*pair, number=number) for number, pair in enumerate(itertools.combinations(players, 2), 1)]


def figures(what: str, duels: Sequence[Duel], *, jobs_left_over: int, settings: Settings) -> Figures:
    """Count, and compare with the same duels in the Docker sandbox, where nothing fails."""
    for duel in duels:
        duel.refresh_from_db()
    settings.SANDBOX = "docker"
    leave_workplace()
    calm = []
    for number, duel in enumerate(duels, 1001):
        again = duel_of(duel.player_1, duel.player_2, number=number)
        run(again)
        again.refresh_from_db()
        calm.append(again)
    counts = [LedgerEntry.objects.filter(duel=duel).count() for duel in duels]
    return Figures(
        what,
        len(duels),
        attempts=sum(duel.attempt for duel in duels),
        lost=sum(
            duel.state != JobState.SUCCEEDED or count < ENTRIES for duel, count in zip(duels, counts, strict=True)
        ),
        doubled=sum(count > ENTRIES for count in counts),
        jobs_left_over=jobs_left_over,
        standings_equal=_table(duels) == _table(calm),
        records_equal=[one.record_sha256 for one in duels] == [one.record_sha256 for one in calm],
        faults=dict(Counter(entry["code"] for duel in duels for entry in duel.history)),
    )


def _table(duels: Sequence[Duel]) -> list[Standing]:
    rows = LedgerEntry.objects.filter(duel__in=duels).order_by("pk")
    entries = [
        Entry(row.duel_id, row.submission_id, row.opponent_id, row.wins, row.draws, row.opponent_errors, row.score)
        for row in rows
    ]
    players = {player.pk for duel in duels for player in _players(duel)}
    return standings(sorted(players), duel_results(entries))


def _players(duel: Duel) -> tuple[Submission, Submission]:
    return duel.player_1, duel.player_2
