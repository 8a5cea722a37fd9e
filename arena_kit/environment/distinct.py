"""Finds the matches of a duel that only repeat others: they say nothing new about two players."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable

from arena_kit.environment.openings import begin
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.spec import EnvironmentSpec

Look = tuple[object, ...]
"""The state of a match after its opening and at its end."""


def first_alike(spec: EnvironmentSpec, matches: Iterable[MatchRecord]) -> tuple[int, ...]:
    """Return, for each match, the number of the first one that is the same; its own number if there is none before it.

    Two matches are the same if the players sit in the same seats, the positions after the opening are the same, however
    they were reached, the later actions are the same, and the matches end in the same way and in the same state. The
    last condition tells matches apart that differ only in what is drawn from their seeds. Only matches with equal
    actions are simulated. Raises what the rules raise for a record that does not fit them.
    """
    alike: defaultdict[Look, list[MatchRecord]] = defaultdict(list)
    for match in matches:
        key = (match.seats, match.actions[match.opening_count :], match.outcome, match.error_code)
        alike[key].append(match)
    found: dict[int, int] = {}
    for group in alike.values():
        first: dict[Look, int] = {}
        for match in group:
            look = () if len(group) == 1 else _look(spec, match)
            found[match.number] = first.setdefault(look, match.number)
    return tuple(found[number] for number in sorted(found))


def _look(spec: EnvironmentSpec, match: MatchRecord) -> Look:
    environment = spec.make()
    begin(environment, match.seed, match.actions[: match.opening_count])
    seen = tuple(bytes(str(list(environment.observe(seat).observation)), "ascii") for seat in range(spec.seats))
    mover = environment.to_move
    # From its beginning, because an environment server plays that with one question.
    begin(environment, match.seed, match.actions)
    return mover, *seen, json.dumps(environment.frame(), sort_keys=True)
