"""`arena replay FILE --why`: who could have forced a win after each move of a match."""

from __future__ import annotations

from arena_kit.analysis.positions import solve_match
from arena_kit.analysis.sentences import story
from arena_kit.cli.common import BadArgument
from arena_kit.cli.local_replay import Replay
from arena_kit.environment.records import MatchRecord
from arena_kit.text import plain_text


def why(replay: Replay) -> str:
    """Return why a match was won or lost, as text for a terminal. Raises BadArgument and ArenaEnvironmentError."""
    spec, record = replay.spec, replay.record
    if not isinstance(record, MatchRecord) or not spec.solver:
        raise BadArgument(f"--why needs a solver, and {spec.name} has none.")
    first, second = replay.facts.names
    told = story(spec, record, solve_match(spec, record), (first, second))
    lines = [told.verdict, *(f"- {remark.sentence}" for remark in told.turning_points)]
    return plain_text("\n".join(lines) + "\n")
