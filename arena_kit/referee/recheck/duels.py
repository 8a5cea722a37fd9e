"""Checks a duel's record by simulating every match again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from arena_kit.environment.distinct import first_alike
from arena_kit.environment.openings import begin, opening_of
from arena_kit.environment.openings_key import in_words
from arena_kit.environment.protocol import ArenaEnvironmentError, BrokenEnvironment, Environment
from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome, record_sha256
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.match import WINNERS, match_seed, pair_seed
from arena_kit.referee.recheck.mismatch import NOT_PLAYABLE, CannotCheck, Mismatch, first_difference

CHECKED = "seats, seeds, openings, legal actions, scores, outcomes, forfeits and move counts of every match"
"""The checks of `recheck_record`, in words."""


def recheck_record(
    spec: EnvironmentSpec, record: DuelRecord, *, sha256: str = "", opening: tuple[int, ...] | None = None
) -> list[Mismatch]:
    """Return everything that is wrong with a record; empty when it verifies.

    The players are not run, so this does not show whether they would choose these actions again.

    spec: the rules that the record names. sha256: the hash kept when the duel was played; empty when unknown.
    opening: of all matches, if the duel is known to go on from a recorded match; all of them have its seed then. None
    to take the record's word for it. Raises CannotCheck when nothing is wrong so far and the environment's own code
    fails.
    """
    found = []
    if record.environment != spec.id:
        found.append(Mismatch(None, f"The record is of {record.environment}, not of {spec.id}."))
    if sha256 and record_sha256(record) != sha256:
        found.append(Mismatch(None, f"The record's hash is {record_sha256(record)}, not {sha256}."))
    if opening is None:
        opening = record.opening
    elif record.opening != opening:
        found.append(Mismatch(None, "The record does not begin at the position that the duel goes on from."))
    if spec.seats != 2:
        return [*found, Mismatch(None, f"{spec.id} has no duels: its number of seats is {spec.seats}.")]
    spec = spec_of(spec, record)
    try:
        for place, match in enumerate(record.matches, start=1):
            found += [Mismatch(place, sentence) for sentence in _match_faults(spec, record.seed, place, match, opening)]
        if not found and record.alike is not None:
            alike = first_alike(spec, record.matches)
            if record.alike != alike:
                said, distinct = record.distinct_matches, len(set(alike))
                sentence = (
                    f"It says that {said} matches are distinct, but {distinct} are."
                    if said != distinct
                    else "Which matches repeat others differs from what it says."
                )
                found.append(Mismatch(None, sentence))
    except BrokenEnvironment as error:
        if not found:
            raise CannotCheck(str(error)) from error
    return found


def spec_of(spec: EnvironmentSpec, record: DuelRecord) -> EnvironmentSpec:
    """Return the rules as a record was made by them: pairs of some environments shared their chance until 0.1.0."""
    if spec.pairs_share_chance or len(record.matches) < 2:
        return spec
    twins = all(match.seed == pair_seed(record.seed, place // 2) for place, match in enumerate(record.matches))
    return replace(spec, keeps_twins=True) if twins else spec


def compare_plays(record: DuelRecord, again: DuelRecord) -> list[Mismatch]:
    """Return the matches that went differently when the players played again with the same seeds."""
    found = []
    for first, second in zip(record.matches, again.matches, strict=False):
        move = first_difference(first.actions, second.actions)
        if move is not None:
            found.append(Mismatch(first.number, f"other actions from move {move + 1} on."))
        elif (first.outcome, first.error_code) != (second.outcome, second.error_code):
            endings = [match.error_code or match.outcome.value for match in (first, second)]
            found.append(Mismatch(first.number, f"the same actions, but {endings[0]} became {endings[1]}."))
    if len(record.matches) != len(again.matches):
        found.append(Mismatch(None, f"{len(record.matches)} matches became {len(again.matches)}."))
    return found


def _match_faults(
    spec: EnvironmentSpec, seed: int, place: int, match: MatchRecord, opening: tuple[int, ...] | None
) -> Iterator[str]:
    """Yield a sentence for everything that is wrong with a match. place: its place in the duel, from 1."""
    seats = (0, 1) if place % 2 else (1, 0)
    if match.number != place:
        yield f"it is recorded as match {match.number}."
    right_seed = match_seed(spec, seed, place) if opening is None else seed
    if match.seed != right_seed:
        yield f"its seed is {match.seed}, not {right_seed}."
    if match.seats != seats:
        yield f"its seats are {match.seats}, not {seats}."
        return
    if fault := _opening_fault(spec, match, opening):
        yield fault
        return
    environment = spec.make()
    moves = [0] * spec.seats
    try:
        rewards = begin(environment, match.seed, match.actions[: match.opening_count])
        scores = list(rewards) or [0.0] * spec.seats
        _simulate(environment, match.actions[match.opening_count :], scores, moves)
    except BrokenEnvironment:
        raise
    except NOT_PLAYABLE as error:
        yield f"move {sum(moves) + 1} is not possible: {error}"
        return
    by_player = [seats.index(player) for player in range(spec.seats)]
    counts = tuple(moves[seat] for seat in by_player)
    # When a forfeit cuts a simultaneous step short, one player may have chosen already, and its move counts.
    is_cut = match.fault is not Fault.NONE and len(environment.to_move) > 1
    chosen = [kept - played for kept, played in zip(match.move_counts, counts, strict=True)]
    if any(chosen) and not (is_cut and sorted(chosen) == [0, 1]):
        yield f"its move counts are {match.move_counts}, not {counts}."
    played = tuple(scores[seat] for seat in by_player)
    yield from _result_faults(spec, match, played, is_over=not environment.to_move)


def _opening_fault(spec: EnvironmentSpec, match: MatchRecord, given: tuple[int, ...] | None) -> str:
    """Return a sentence if the opening is not the given one, or the one that the seed gives; empty if it is."""
    if match.fault is Fault.PLAYER and not match.actions and not match.opening_count:
        # A match forfeited before it began, because its player was lost, has no opening.
        return ""
    try:
        opening = opening_of(spec, match.seed) if given is None else given
    except BrokenEnvironment:
        raise
    except (ArenaEnvironmentError, OverflowError) as error:
        return f"its opening cannot be drawn: {error}"
    if match.opening_count == len(opening) and match.actions[: len(opening)] == opening:
        return ""
    recorded = in_words(match.actions[: match.opening_count]) or "none"
    return f"its opening is {recorded}, not {in_words(opening) or 'none'}, which its seed gives."


def _simulate(environment: Environment, actions: Sequence[int], scores: list[float], moves: list[int]) -> None:
    """Play actions and add up scores and moves, by seat, in place. Raises what the rules raise."""
    position = 0
    while position < len(actions):
        movers = environment.to_move
        if not movers:
            raise ValueError("the match was already over.")
        if position + len(movers) > len(actions):
            raise ValueError("the record ends within a step.")
        chosen = dict(zip(movers, actions[position:], strict=False))
        rewards = environment.step(chosen)
        position += len(movers)
        for seat, reward in enumerate(rewards):
            scores[seat] += reward
            moves[seat] += seat in chosen


def _result_faults(
    spec: EnvironmentSpec, match: MatchRecord, scores: tuple[float, ...], *, is_over: bool
) -> Iterator[str]:
    outcome = Outcome.DRAW if scores[0] == scores[1] else WINNERS[scores[1] > scores[0]]
    if match.fault is not Fault.NONE:
        if match.fault is not Fault.PLAYER or match.faulty_player not in (0, 1):
            yield "it was forfeited, but by neither player."
            return
        if is_over:
            yield "it was forfeited after its end."
        if match.error_code not in set(PlayerFault):
            yield f"{match.error_code!r} is not a fault that a player forfeits for."
        loss = spec.forfeit_score
        scores, outcome = ((-loss, loss), WINNERS[1]) if match.faulty_player == 0 else ((loss, -loss), WINNERS[0])
    elif not is_over:
        yield "it stops before its end without a fault."
        return
    elif match.faulty_player is not None or match.error_code:
        yield "it names a fault, but was not forfeited."
    if match.scores != scores:
        yield f"its scores are {match.scores}, not {scores}."
    if match.outcome is not outcome:
        yield f"its outcome is {match.outcome.value or 'none'}, not {outcome.value}."
