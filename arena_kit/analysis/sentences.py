"""Says in sentences what the values of a match mean. The words of the moves are the game's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arena_kit.analysis.mistakes import Mistake, decided_by, mistakes, worst
from arena_kit.analysis.overlooked import overlooked, wins_within
from arena_kit.analysis.positions import Position
from arena_kit.environment.records import Fault, MatchRecord
from arena_kit.environment.replay import replay
from arena_kit.environment.replay_file.facts import YOU, does
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.environment.words import move_in_words

MOST_NAMED, SHORT = 2, 20
"""How many of the best moves a sentence names, and how long they may be: of longer ones it names only one."""
NOT_SOLVED = "Not solved: there are too many continuations."


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark about a position. ply: its number. sentence: for people. best: the best moves in words.

    mistake: the move that led here, if it gave something away.
    """

    ply: int
    sentence: str
    best: str
    mistake: Mistake | None


@dataclass(frozen=True, slots=True)
class Story:
    """The remarks about a match. verdict: sentences about all of it.

    remarks: one per position. turning_points: remarks on the moves that changed who could win, in order. worst: by
    seat, the remarks on its worst mistakes.
    """

    verdict: str
    remarks: tuple[Remark, ...]
    turning_points: tuple[Remark, ...]
    worst: tuple[tuple[Remark, ...], tuple[Remark, ...]]


def story(spec: EnvironmentSpec, record: MatchRecord, positions: Sequence[Position], names: tuple[str, str]) -> Story:
    """Tell a match. names: by player. Raises what replaying the record raises."""
    seats = (names[record.seats[0]], names[record.seats[1]])
    frames = [step.frame for step in replay(spec, record)]

    def words(ply: int, action: int) -> str:
        return move_in_words(spec, frames[ply], action)

    found = mistakes(record, positions)
    by_ply = {one.ply: one for one in found}
    remarks = tuple(
        _remark(record, positions, position, seats, by_ply.get(position.ply), words) for position in positions
    )
    threat = ""
    if missed := overlooked(spec, record, positions):
        played = words(missed.ply - 1, record.actions[missed.ply - 1])
        better = moves_listed([words(missed.ply - 1, action) for action in missed.better])
        winner = _within(seats[1 - missed.seat])
        wins = wins_within(missed.steps)
        threat = f"Move {missed.ply} ({played}) let {winner} {wins}; {better} would have prevented that."
    return Story(
        verdict=_verdict(record, positions, found, seats, threat),
        remarks=remarks,
        turning_points=tuple(remarks[one.ply] for one in found),
        worst=tuple(tuple(remarks[one.ply] for one in worst(found, seat)) for seat in (0, 1)),  # type: ignore[arg-type]
    )


def _remark(
    record: MatchRecord,
    positions: Sequence[Position],
    position: Position,
    seats: tuple[str, str],
    mistake: Mistake | None,
    words: Callable[[int, int], str],
) -> Remark:
    best = moves_listed([words(position.ply, action) for action in position.best])
    if mistake is None:
        return Remark(position.ply, _state(position, seats), best, None)
    ply = position.ply
    moved, other = _within(seats[mistake.seat]), seats[1 - mistake.seat]
    better = moves_listed([words(ply - 1, action) for action in positions[ply - 1].best])
    after = f"After move {ply} ({words(ply - 1, record.actions[ply - 1])}), "
    if mistake.after == 0:
        sentence = f"{after}the match is a draw with perfect play; {moved} could have forced a win with {better}."
    elif position.plies == 0:
        sentence = f"{after}{_within(does(other, 'have'))} won; {better} was better."
    else:
        had = "could have forced a win" if mistake.before > 0 else "could have kept the draw"
        sentence = f"{after}{_within(other)} can {_in_moves(position, 1 - mistake.seat)}; {moved} {had} with {better}."
    return Remark(ply, sentence, best, mistake)


def _state(position: Position, seats: tuple[str, str]) -> str:
    """Return a sentence about a position."""
    if position.value is None:
        return NOT_SOLVED
    if position.to_move is None:
        return "Draw." if position.value == 0 else f"{does(seats[position.value < 0], 'have')} won."
    if position.value == 0:
        return "With perfect play this is a draw."
    winner = 0 if position.value > 0 else 1
    return f"{seats[winner]} can {_in_moves(position, winner)}."


def _within(words: str) -> str:
    """Return words that begin with a name for the middle of a sentence."""
    return words.replace(YOU, YOU.lower(), 1) if words.split()[:1] == [YOU] else words


def _in_moves(position: Position, winner: int) -> str:
    """Return how soon a seat can win, e.g. `force a win in 5 moves` of its own."""
    assert position.plies is not None
    moves = (position.plies + (position.to_move == winner)) // 2
    if position.plies == 1:
        return "win at once"
    return f"force a win in {moves} move{'' if moves == 1 else 's'}"


def _verdict(
    record: MatchRecord, positions: Sequence[Position], found: Sequence[Mistake], seats: tuple[str, str], threat: str
) -> str:
    unsolved = next((place for place, position in enumerate(positions) if position.value is not None), len(positions))
    said = []
    if unsolved == len(positions):
        return "No position of this match could be solved: the game can go on in too many ways."
    if unsolved > record.opening_count:
        said.append(f"The positions before move {unsolved} are not solved: the game can go on in too many ways.")
    final = positions[-1]
    if record.fault is not Fault.NONE:
        said.append(f"The match ended by a forfeit. {_state(final, seats)}")
        return " ".join(said)
    if threat:
        return " ".join((*said, threat))
    decisive = decided_by(found, positions)
    start = positions[max(record.opening_count, unsolved)]
    if decisive is not None and final.value != 0:
        loser = seats[decisive.seat]
        whose = "your last mistake" if loser == YOU else f"the last mistake of {loser}"
        said.append(f"The match was decided by move {decisive.ply}, {whose}.")
    elif decisive is not None:
        said.append(f"After move {decisive.ply} neither side could force a win any more.")
    elif final.value == 0:
        said.append("Neither side ever let the other force a win.")
    elif start.value == final.value:
        since = "the opening" if start.ply == record.opening_count else f"move {start.ply}"
        said.append(f"{seats[final.value is not None and final.value < 0]} could force a win from {since} on.")
    count = len(found)
    if count == 0:
        said.append(f"No {'later ' if unsolved > record.opening_count else ''}move gave anything away.")
    else:
        said.append(f"{count} move{'' if count == 1 else 's'} gave something away.")
    return " ".join(said)


def moves_listed(words: Sequence[str]) -> str:
    """Join moves in words to a phrase that names the first ones."""
    named = MOST_NAMED if all(len(one) <= SHORT for one in words) else 1
    if len(words) <= named:
        return " or ".join(words)
    rest = len(words) - named
    if named == 1:
        # Words as long as those of Quarto have commas of their own.
        return f"{words[0]} (or {rest} other move{'' if rest == 1 else 's'})"
    return f"{', '.join(words[:named])} or {rest} other{'' if rest == 1 else 's'}"
