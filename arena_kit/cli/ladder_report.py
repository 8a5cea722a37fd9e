"""The static report of a ladder: one HTML file without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape

from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from arena_kit.environment.replay import replay
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.text import plain_line, plain_text

REPLAYS_A_DUEL = 2
"""So many matches of each duel can be read move by move in the report: one with either player in the first seat."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; --line: #8886;
  --good: light-dark(#17693f, #5fd39c); --bad: light-dark(#a3291b, #ff9b8f); }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .7rem; text-align: right; white-space: nowrap; }
th:first-child, td.name, th.name { text-align: left; } caption { text-align: left; padding-bottom: .5rem; }
.bar { display: block; width: 14rem; height: 1rem; } .good { color: var(--good); } .bad { color: var(--bad); }
pre { background: #8882; padding: .7rem; overflow-x: auto; } details { margin: .4rem 0; } summary { cursor: pointer; }
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One agent in the table. low, high: the 95% interval of the rating. points: 1 for a match won, 0.5 for a draw."""

    rank: int
    best_rank: int
    worst_rank: int
    name: str
    rating: float
    low: float
    high: float
    points: float
    matches: int
    forfeits: int

    def as_json(self) -> Mapping[str, object]:
        return asdict(self)


def report_html(spec: EnvironmentSpec, rows: Sequence[Row], records: Sequence[DuelRecord]) -> str:
    """Return the whole report."""
    title = f"Ladder in {plain_line(spec.name)}"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main><h1>{escape(title)}</h1>",
            _lead(spec, len(rows), records),
            *_table(rows),
            *_cross(rows, records),
            "<h2>Replays</h2>",
            *(line for record in records for line in _replays(spec, record)),
            "</main></body></html>",
        ]
    )


def _lead(spec: EnvironmentSpec, agents: int, records: Sequence[DuelRecord]) -> str:
    matches = sum(len(record.matches) for record in records)
    each = len(records[0].matches) if records else 0
    return (
        f"<p>{agents} agents played {matches} matches, {each} in each duel, by the rules of {escape(spec.id)}. Ratings "
        "are those of the arena: one fit over all matches, in points of the Elo scale, with 95% intervals.</p>"
    )


def _table(rows: Sequence[Row]) -> Iterator[str]:
    low, high = min((row.low for row in rows), default=0.0), max((row.high for row in rows), default=0.0)
    yield '<h2>Table</h2><div class="scroll" tabindex="0"><table><thead><tr>'
    yield '<th scope="col">Rank</th><th scope="col" class="name">Agent</th>'
    yield from (f'<th scope="col">{head}</th>' for head in ("Rating", "95% interval", "", "Rank range"))
    yield '<th scope="col">Points</th><th scope="col">Matches</th><th scope="col">Forfeits</th></tr></thead><tbody>'
    for row in rows:
        bad = ' class="bad"' if row.forfeits else ""
        yield (
            f'<tr><td>{row.rank}</td><th scope="row" class="name">{_name(row.name)}</th><td>{row.rating:.0f}</td>'
            f"<td>{row.low:.0f} to {row.high:.0f}</td><td>{_bar(row, low, high)}</td>"
            f"<td>{row.best_rank} to {row.worst_rank}</td><td>{row.points:g}</td><td>{row.matches}</td>"
            f"<td{bad}>{row.forfeits}</td></tr>"
        )
    yield "</tbody></table></div>"


def _bar(row: Row, low: float, high: float) -> str:
    """Return the interval as a line with its value as a dot."""
    width = max(1.0, high - low)
    left, right, dot = (100 * (value - low) / width for value in (row.low, row.high, row.rating))
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<line x1="{left:.1f}" x2="{right:.1f}" y1="5" y2="5" stroke="currentColor" stroke-width="1"/>'
        f'<rect x="{dot - 0.7:.1f}" y="2" width="1.4" height="6" fill="currentColor"/></svg>'
    )


def _cross(rows: Sequence[Row], records: Sequence[DuelRecord]) -> Iterator[str]:
    shares = {}
    for record in records:
        for player in (0, 1):
            points, count = record.summary.points[player] / 2, len(record.matches)
            shares[record.players[player], record.players[1 - player]] = (points, count)
    yield '<h2>Who beats whom</h2><div class="scroll" tabindex="0"><table>'
    yield "<caption>Points of the agent on the left against that above, with the share of all points.</caption>"
    yield "<thead><tr><td></td>" + "".join(f'<th scope="col">{_name(row.name)}</th>' for row in rows) + "</tr></thead>"
    for row in rows:
        cells = [_cell(shares.get((row.name, other.name))) for other in rows]
        yield f'<tr><th scope="row">{_name(row.name)}</th>{"".join(cells)}</tr>'
    yield "</table></div>"


def _cell(found: tuple[float, int] | None) -> str:
    if found is None:
        return "<td></td>"
    points, count = found
    share = points / max(1, count)
    tone = "good" if share > 0.5 else "bad" if share < 0.5 else ""
    return f'<td class="{tone}">{points:g}/{count} ({share:.0%})</td>'


def _replays(spec: EnvironmentSpec, record: DuelRecord) -> Iterator[str]:
    """Yield the first matches of a duel move by move."""
    names = " against ".join(_name(name) for name in record.players)
    yield f"<h3>{names}</h3>"
    for match in record.matches[:REPLAYS_A_DUEL]:
        yield f"<details><summary>Match {match.number}: {_ending(record, match)}</summary>"
        yield from _moves(spec, record, match)
        yield "</details>"


def _ending(record: DuelRecord, match: MatchRecord) -> str:
    if match.fault is Fault.PLAYER and match.faulty_player is not None:
        return f"{_name(record.players[match.faulty_player])} forfeits"
    if match.outcome is Outcome.DRAW:
        return "a draw"
    return f"{_name(record.players[match.outcome is Outcome.PLAYER_2])} wins"


def _moves(spec: EnvironmentSpec, record: DuelRecord, match: MatchRecord) -> Iterator[str]:
    for ply, step in enumerate(replay(spec, match)):
        moves = "; ".join(f"{_name(record.players[match.seats[seat]])} plays {action!r}" for seat, action in step.moves)
        yield f"<p>{ply}. {moves or 'Start'}</p><pre>{escape(plain_text(step.text))}</pre>"
    if match.error:
        yield f"<p>{escape(plain_line(match.error.partition(chr(10))[0]))}</p>"


def _name(name: str) -> str:
    return escape(plain_line(name))
