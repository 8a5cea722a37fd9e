"""Really played duels and validations for tests: random moves, recorded, stored and entered like those of a worker."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import replace

from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome, half_points
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.ranking.sequential import SequentialTest, pairs_to_decide
from core.duels.services import duel_succeed
from core.jobs.artifacts import artifacts_stored
from core.jobs.lifecycle import job_claim
from core.models import Agent, Duel, Environment, JobState, Participant, Submission, Tournament, Validation
from core.submissions.phases import validation_succeed
from core.tests import factories

TRACE = 'Traceback (most recent call last):\n  File "player.py", line 9, in step\n    secret_move = plan["nine"]'
DIGESTS = ("sha256:" + "1" * 64, "sha256:" + "2" * 64)
SENTENCE = "The player raised an exception: KeyError: 'nine'"


def random_match(spec: EnvironmentSpec, number: int, seed: int, faulty_player: int | None = None) -> MatchRecord:
    """A match of random moves; with `faulty_player` (0, 1) that player raises after two moves."""
    moves = random.Random(f"{seed}/{number}")
    environment = spec.make()
    environment.reset(seed)
    seats = (0, 1) if number % 2 else (1, 0)
    actions: list[int] = []
    scores = [0.0, 0.0]
    move_ms: tuple[list[int], list[int]] = ([], [])
    while environment.to_move and not (faulty_player is not None and len(actions) == 2):
        chosen = {seat: moves.choice(list(environment.observe(seat).valid_actions)) for seat in environment.to_move}
        actions += chosen.values()
        for seat in chosen:
            move_ms[seats[seat]].append(10 * len(actions) if seats[seat] else 0)
        for place, reward in enumerate(environment.step(chosen)):
            scores[seats[place]] += reward
    if faulty_player is not None:
        scores[faulty_player], scores[1 - faulty_player] = -spec.forfeit_score, spec.forfeit_score
    winners = (Outcome.PLAYER_1, Outcome.PLAYER_2)
    return MatchRecord(
        number=number,
        seed=seed,
        seats=seats,
        actions=tuple(actions),
        outcome=Outcome.DRAW if scores[0] == scores[1] else winners[scores[1] > scores[0]],
        scores=tuple(scores),
        fault=Fault.NONE if faulty_player is None else Fault.PLAYER,
        faulty_player=faulty_player,
        error_code="" if faulty_player is None else "player_raised",
        error="" if faulty_player is None else f"{SENTENCE}\n{TRACE}",
        move_counts=(len(actions) // 2, len(actions) // 2),
        thinking_seconds=(0.25, 0.5),
        slowest_move_seconds=(0.125, 0.25),
        move_ms=((), tuple(move_ms[1])),
    )


def random_duel(
    spec: EnvironmentSpec,
    names: tuple[str, str],
    match_count: int,
    *,
    seed: int = 7,
    faults_of_1: Collection[int] = (),
    faults_of_2: Collection[int] = (),
) -> DuelRecord:
    """faults_of_1, faults_of_2: numbers of the matches that the player forfeits."""
    matches = []
    for number in range(1, match_count + 1):
        faulty = 0 if number in faults_of_1 else 1 if number in faults_of_2 else None
        matches.append(random_match(spec, number, seed + (number - 1) // 2, faulty))
    return DuelRecord(spec.id, seed, names, tuple(matches))


def ready(agent: Agent) -> Submission:
    row = factories.ready(agent)
    row.image = f"player-{agent.name}"
    row.save(update_fields=["image"])
    return row


def edition(players: Collection[Submission], environment: Environment, number: int = 1) -> Tournament:
    """A running edition with these participants and no duels."""
    tournament = Tournament.objects.create(environment=environment, edition=number)
    for player in players:
        Participant.objects.create(tournament=tournament, submission=player)
    return tournament


def waiting_duel(tournament: Tournament, player_1: Submission, player_2: Submission, match_count: int = 10) -> Duel:
    duel = factories.duel(tournament, player_1, player_2, number=tournament.duels.count() + 1, state=JobState.QUEUED)
    duel.match_count = match_count
    duel.save(update_fields=["match_count"])
    return duel


def play(duel: Duel, *, faults_of_1: Collection[int] = (), faults_of_2: Collection[int] = ()) -> Duel:
    """Do what a worker does with a waiting duel."""
    spec = get_spec(duel.environment_version)
    claimed = job_claim(kind=Duel, job_id=duel.pk, worker="worker-1")
    assert claimed is not None
    names = (str(duel.player_1), str(duel.player_2))
    record = random_duel(
        spec, names, duel.match_count, seed=duel.seed, faults_of_1=faults_of_1, faults_of_2=faults_of_2
    )
    if duel.test is not None:
        pairs = pairs_to_decide(SequentialTest(**duel.test), half_points(record.matches))
        record = replace(record, matches=record.matches[: None if pairs is None else 2 * pairs])
    with artifacts_stored(
        job=claimed, record=record, player_logs=("one said hello\n", ""), digests=DIGESTS
    ) as artifacts:
        duel_succeed(duel=claimed, record=record, artifacts=artifacts, log=f"{names[0]} against {names[1]}: played.")
    return Duel.objects.get(pk=duel.pk)


def play_validation(submission: Submission, match_count: int = 4) -> Validation:
    """A validation that a worker has just played."""
    version = submission.agent.environment.spec_id
    waiting = Validation.objects.create(
        submission=submission, environment_version=version, seed=7, match_count=match_count
    )
    claimed = job_claim(kind=Validation, job_id=waiting.pk, worker="worker-1")
    assert claimed is not None
    record = random_duel(get_spec(version), (str(submission), str(submission)), match_count)
    logs = ("hello from 1\n", "hello from 2\n")
    with artifacts_stored(job=claimed, record=record, player_logs=logs, digests=(DIGESTS[0], DIGESTS[0])) as artifacts:
        validation_succeed(validation=claimed, artifacts=artifacts, log="Self-play: played.")
    return Validation.objects.get(pk=waiting.pk)
