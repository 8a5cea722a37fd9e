"""Records of random matches and duels, for tests of what is made from records."""

from __future__ import annotations

import io
import random

import pytest

from arena_kit.environment.conformance import bounds, is_real, pack
from arena_kit.environment.openings import opening_of, play_opening
from arena_kit.environment.protocol import Action, MissingExtra
from arena_kit.environment.record_archive import write_duel
from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from arena_kit.environment.registry import all_specs
from arena_kit.environment.spec import EnvironmentSpec

GAMES = tuple(spec for spec in all_specs() if spec.seats == 2)
TASKS = tuple(spec for spec in all_specs() if spec.seats == 1)
OUTCOMES = (Outcome.PLAYER_1, Outcome.PLAYER_2)


def match_record(spec: EnvironmentSpec, number: int = 1, seed: int = 0, *, forfeits: int | None = None) -> MatchRecord:
    """Return the record of a random match. forfeits: the player that is at fault after two moves."""
    seats = (1, 0) if number % 2 == 0 else (0, 1)
    rng = random.Random(1000 * seed + number)
    environment = spec.make()
    environment.reset(seed)
    opening = opening_of(spec, seed)
    play_opening(environment, opening)
    actions = list(opening)
    moves = [0, 0]
    times: tuple[list[int], list[int]] = ([], [])
    by_seat = [0.0] * spec.seats
    while (movers := environment.to_move) and not (forfeits is not None and sum(moves) >= 2):
        chosen = {seat: rng.choice(environment.observe(seat).valid_actions) for seat in movers}
        actions += chosen.values()
        for seat in movers:
            times[seats[seat]].append(10 * moves[seats[seat]] + seats[seat])
            moves[seats[seat]] += 1
        rewards = environment.step(chosen)
        by_seat = [total + reward for total, reward in zip(by_seat, rewards, strict=True)]
    if forfeits is not None:
        loss = spec.forfeit_score
        return MatchRecord(
            number=number,
            seed=seed,
            seats=seats,
            actions=tuple(actions),
            outcome=OUTCOMES[1 - forfeits],
            scores=(-loss, loss) if forfeits == 0 else (loss, -loss),
            fault=Fault.PLAYER,
            faulty_player=forfeits,
            error_code="player_raised",
            error="The player raised an exception: KeyError: <Board object at 0x7f01>\nTraceback: line 3",
            move_counts=(1, 1),
            opening_count=len(opening),
        )
    scores = (by_seat[seats.index(0)], by_seat[seats.index(1)])
    outcome = Outcome.DRAW if scores[0] == scores[1] else OUTCOMES[scores[1] > scores[0]]
    return MatchRecord(
        number=number,
        seed=seed,
        seats=seats,
        actions=tuple(actions),
        outcome=outcome,
        scores=scores,
        move_counts=(moves[0], moves[1]),
        thinking_seconds=(0.25, 0.5),
        slowest_move_seconds=(0.125, 0.25),
        move_ms=(tuple(times[0]), tuple(times[1])),
        opening_count=len(opening),
    )


def installed(spec: EnvironmentSpec) -> EnvironmentSpec:
    """Return the spec, or skip the test where a package that it needs is not installed."""
    try:
        spec.make()
    except MissingExtra as error:
        pytest.skip(str(error))
    return spec


def random_action(spec: EnvironmentSpec, rng: random.Random) -> Action:
    """Return a random action of an environment with one seat."""
    if spec.action is None:
        return rng.randrange(spec.action_count)
    pairs = list(zip(*bounds(spec.action), strict=True))
    if is_real(spec.action):
        return pack(spec.action, [rng.uniform(*pair) for pair in pairs])
    return pack(spec.action, [rng.randint(int(low), int(high)) for low, high in pairs])


def episode(spec: EnvironmentSpec, seed: int = 0, most: int | None = None) -> tuple[list[Action], list[float]]:
    """Return actions and rewards of a random episode, or of its first `most` steps."""
    rng = random.Random(seed)
    environment = spec.make()
    environment.reset(seed)
    actions: list[Action] = []
    rewards: list[float] = []
    while environment.to_move and (most is None or len(actions) < most):
        actions.append(random_action(spec, rng))
        rewards += environment.step({0: actions[-1]})
    return actions, rewards


def duel_record(spec: EnvironmentSpec, count: int = 6, seed: int = 7) -> DuelRecord:
    """Return the record of a random duel in which player_2 forfeits the third match."""
    matches = (match_record(spec, number, seed, forfeits=1 if number == 3 else None) for number in range(1, count + 1))
    return DuelRecord(spec.id, seed, ("alpha v1", "beta v2"), tuple(matches))


def written(record: DuelRecord) -> bytes:
    """Return the bytes of a duel's artifact."""
    file = io.BytesIO()
    write_duel(record, file)
    return file.getvalue()
