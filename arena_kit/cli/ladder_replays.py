"""The replays in the report of a ladder: which matches it has, and the part of the page that plays them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template

from arena_kit.environment.records import DuelRecord, MatchRecord
from arena_kit.environment.replay_file.facts import ReplayAgent, ReplayFacts, ending
from arena_kit.environment.replay_file.page import replay_theatre
from arena_kit.environment.replay_file.views import NotDrawable
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.text import plain_line

MAX_BYTES = 12_000_000
"""The replays of a report take no more space. Long matches then show fewer states, and say so."""
LEAST_BYTES = 100_000
"""A report replays no more matches than fit at this size."""
TEMPLATES = Path(__file__).parent / "report"


@dataclass(frozen=True, slots=True)
class Shown:
    """A match that a report replays. number: counts the matches of the report from 1."""

    number: int
    record: DuelRecord
    match: MatchRecord

    @property
    def facts(self) -> ReplayFacts:
        agents = tuple(ReplayAgent(name, name) for name in self.record.players)
        return ReplayFacts(f"match-{self.number}", agents)

    @property
    def ending(self) -> str:
        """How it ended, as a sentence without a full stop, with the reason of a forfeit."""
        said = plain_line(self.match.error.partition("\n")[0])
        return ending(self.match, self.facts.names) + (f": {said}" if said else "")


def shown_matches(names: Sequence[str], records: Sequence[DuelRecord]) -> list[Shown]:
    """Return the matches that a report replays, by duel.

    From each duel these are the first match that each player won, the first draw and the first forfeits. If that is too
    much, the rarest ending of each duel has precedence, and then duels between better agents.

    names: the agents, best first.
    """
    place = {name: number for number, name in enumerate(names)}
    duels = sorted(records, key=lambda record: sum(place.get(name, 0) for name in record.players))
    found = [
        (turn, number, match) for number, record in enumerate(duels) for turn, match in enumerate(_by_ending(record))
    ]
    kept = sorted(found, key=lambda one: one[:2])[: MAX_BYTES // LEAST_BYTES]
    by_duel = sorted(kept, key=lambda one: (one[1], one[2].number))
    return [Shown(count, duels[number], match) for count, (_, number, match) in enumerate(by_duel, start=1)]


def _by_ending(record: DuelRecord) -> list[MatchRecord]:
    """Return the first match of a duel with each ending, the rarest ending first."""
    endings: dict[object, list[MatchRecord]] = {}
    for match in record.matches:
        endings.setdefault((match.outcome, match.fault, match.faulty_player), []).append(match)
    return [matches[0] for matches in sorted(endings.values(), key=len)]


def replays_html(spec: EnvironmentSpec, shown: Sequence[Shown], match_count: int) -> str:
    """Return the part of the page with the list of matches and the replays. match_count: of the whole ladder."""
    is_cut = len(shown) == MAX_BYTES // LEAST_BYTES
    left, matches = MAX_BYTES, []
    for done, one in enumerate(shown):
        part = _replay(spec, one, left // (len(shown) - done))
        left -= len(part.encode())
        matches.append(part)
    return Template((TEMPLATES / "replays.html").read_text(encoding="utf-8")).substitute(
        note=f"{len(shown)} of {match_count:,} matches: the first with each ending that a duel had."
        f"{' Others are left out, because they would make this file too large.' if is_cut else ''}",
        choices="".join(_choices(shown)),
        matches="\n".join(matches),
    )


def _choices(shown: Sequence[Shown]) -> Iterator[str]:
    for names, duel in groupby(shown, key=lambda one: one.facts.names):
        yield f'<optgroup label="{escape(" against ".join(names))}">'
        for one in duel:
            yield f'<option value="{one.number}">Match {one.match.number}: {escape(one.ending)}</option>'
        yield "</optgroup>"


def _replay(spec: EnvironmentSpec, one: Shown, max_bytes: int) -> str:
    title = f"{' against '.join(one.facts.names)}, match {one.match.number}"
    head = f'<template id="match-{one.number}"><h2 tabindex="-1"><bdi>{escape(title)}</bdi></h2>'
    try:
        place = f"match={one.number}&"
        theatre = replay_theatre(spec, one.match, one.facts, max_bytes=max_bytes - len(head.encode()), place=place)
    except NotDrawable as error:
        theatre = f'<p class="note">{escape(str(error))}</p>'
    return f"{head}{theatre}</template>"
