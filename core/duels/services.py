"""Duels: their results enter the ledger exactly once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from django.db import transaction

from arena_kit.environment.records import DuelRecord, DuelSummary, MatchRecord, half_points, summarise
from arena_kit.ranking.sequential import SequentialTest, decide
from core.duels.positions import Position
from core.jobs.artifacts import DuelArtifacts
from core.jobs.lifecycle import job_announce, job_succeed
from core.jobs.messages import CHALLENGE_TASK, TOURNAMENT_TASK, task_request
from core.jobs.turns import duels_line_up
from core.jobs.written import written_once
from core.models import (
    Challenge,
    Duel,
    LedgerChange,
    LedgerEntry,
    Promotion,
    Run,
    Submission,
    Tournament,
)
from core.monitoring.metrics import matches_played
from core.ratings.ledger import ledger_change

BATCH_SIZE = 500
"""The number of duels in one statement."""


def duels_enqueue(*, duels: Sequence[Duel]) -> None:
    """Save new duels and put them in line in their order, with as many queries for thousands as for one.

    duels: unsaved, all of one environment and of one tournament, promotion, challenge or run; possibly none.
    """
    if not duels:
        return
    with transaction.atomic():
        duels_line_up(duels=duels)
        Duel.objects.bulk_create(duels, batch_size=BATCH_SIZE)
        # It wakes all idle workers, and they go from duel to duel.
        job_announce(job=duels[0])


def duel_new(
    *,
    tournament: Tournament | None = None,
    promotion: Promotion | None = None,
    challenge: Challenge | None = None,
    run: Run | None = None,
    number: int = 1,
    round: int = 1,  # noqa: A002  (the row's word; nothing is rounded here)
    player_1: Submission,
    player_2: Submission,
    seed: int,
    match_count: int,
    expected: float | None = None,
    reason: str = "",
    test: SequentialTest | None = None,
    position: Position | None = None,
) -> Duel:
    """Return an unsaved duel by today's rules for exactly one of tournament, promotion, challenge and run.

    number: from 1, within the tournament, promotion or challenge. expected: predicted share of the matches of player_1.
    reason: why the two meet. test: the sequential test that may end the duel early; then match_count is the maximum.
    position: of a recorded match, from which all its matches go on, with the seed of that match instead of `seed`.
    """
    return Duel(
        tournament=tournament,
        promotion=promotion,
        challenge=challenge,
        run=run,
        number=number,
        round=round,
        player_1=player_1,
        player_2=player_2,
        environment_version=player_1.agent.environment.spec_id,
        match_count=match_count,
        expected=expected,
        reason=reason[:200],
        test=None if test is None else test.as_json,
        **({"seed": seed} if position is None else position.fields),
    )


@written_once
def duel_succeed(*, duel: Duel, record: DuelRecord, artifacts: DuelArtifacts, log: str) -> None:
    """Write a duel's result, artifacts, ledger entries and state together.

    Raises StaleJob when the claim was lost; then nothing is written.
    """
    with transaction.atomic():
        found = {
            "test_result": test_result(duel, record),
            "distinct_matches": record.distinct_matches,
            **result_fields(record.summary),
        }
        job_succeed(job=duel, log=log, **found, **asdict(artifacts))
        if duel.tournament is not None:
            LedgerEntry.objects.bulk_create(ledger_entries(duel, record))
        matches_played(
            kind=duel.KIND,
            env_id=duel.player_1.agent.environment.env_id,
            matches=len(record.matches),
            moves=sum(sum(match.move_counts) for match in record.matches),
        )
        _tell_others(duel)
        if duel.tournament is not None:
            # Last, because all other results of the environment wait from here until the commit.
            ledger_change(
                environment_id=duel.tournament.environment_id,
                kind=LedgerChange.Kind.RESULT,
                tournament=duel.tournament,
                duel=duel,
            )


def _tell_others(duel: Duel) -> None:
    """Wake the challenge or promotion that waits for a duel."""
    if duel.challenge_id is not None:
        task_request("tournament", CHALLENGE_TASK, duel.challenge_id)
    if duel.promotion_id is not None:
        # Otherwise the environment's next step or the reaper decides it.
        task_request("tournament", TOURNAMENT_TASK, duel.environment.pk)


def result_fields(summary: DuelSummary) -> dict[str, object]:
    """Return the fields of a duel's row that follow from its record."""
    return {
        "outcome": summary.outcome.value,
        "player_1_wins": summary.wins[0],
        "player_2_wins": summary.wins[1],
        "player_1_errors": summary.errors[0],
        "player_2_errors": summary.errors[1],
        "draws": summary.draws,
        "player_1_score": summary.scores[0],
        "player_2_score": summary.scores[1],
    }


def test_result(duel: Duel, record: DuelRecord) -> dict[str, object] | None:
    """Return the finding of a duel's sequential test as its row keeps it; None without a test.

    pairs: the number of pairs examined. counts: pairs by half points of player_1, 0 to 4. llr: log-likelihood ratio.
    """
    if duel.test is None:
        return None
    found = decide(SequentialTest(**duel.test), dict(enumerate(half_points(record.matches))))
    return {
        "state": found.state.value,
        "pairs": found.pairs,
        "counts": list(found.counts),
        # The last digits differ between versions of NumPy.
        "llr": round(found.llr, 4),
        "sentence": found.sentence(str(duel.player_1), str(duel.player_2)),
    }


def ledger_entries(duel: Duel, record: DuelRecord) -> Iterator[LedgerEntry]:
    """Yield one entry for each player and each seat that it played."""
    submissions = (duel.player_1, duel.player_2)
    by_seats: dict[tuple[int, ...], list[MatchRecord]] = {}
    for match in record.matches:
        by_seats.setdefault(match.seats, []).append(match)
    summaries = {(player, seats.index(player)): summarise(by_seats[seats]) for seats in by_seats for player in (0, 1)}
    for (player, seat), summary in sorted(summaries.items(), key=lambda item: item[0]):
        rival = 1 - player
        yield LedgerEntry(
            duel=duel,
            submission=submissions[player],
            opponent=submissions[rival],
            seat=seat,
            wins=summary.wins[player],
            losses=summary.wins[rival],
            draws=summary.draws,
            errors=summary.errors[player],
            opponent_errors=summary.errors[rival],
            score=summary.scores[player],
        )
