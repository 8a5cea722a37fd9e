"""The static report of a ladder: one HTML file that works by itself, from a disk, without a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from string import Template

from arena_kit.cli.ladder_replays import TEMPLATES, Shown, replays_html, shown_matches
from arena_kit.environment.records import DuelRecord
from arena_kit.environment.replay_file.page import player_script, player_style, policy_of
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.text import plain_line


@dataclass(frozen=True, slots=True)
class ReportRow:
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


def report_html(spec: EnvironmentSpec, rows: Sequence[ReportRow], records: Sequence[DuelRecord]) -> str:
    """Return the whole report."""
    shown = shown_matches([row.name for row in rows], records)
    style = player_style() + _file("ladder.css")
    scripts = (_file("ladder.js"), player_script()) if shown else ()
    return Template(_file("ladder.html")).substitute(
        policy=escape(policy_of(style, *scripts)),
        title=escape(f"Ladder in {plain_line(spec.name)}"),
        style=style,
        subtitle=escape(plain_line(spec.id)),
        lead=_lead(len(rows), records),
        table="".join(_table(rows)),
        cross="".join(_cross(rows, records, shown)),
        replays=replays_html(spec, shown, sum(len(record.matches) for record in records)) if shown else "",
        scripts="".join(f"<script>{script}</script>\n" for script in scripts),
    )


def _file(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _lead(agents: int, records: Sequence[DuelRecord]) -> str:
    matches = sum(len(record.matches) for record in records)
    each = len(records[0].matches) if records else 0
    counted = [record.distinct_matches for record in records if record.distinct_matches is not None]
    distinct = f" {sum(counted):,} matches are distinct." if records and len(counted) == len(records) else ""
    return (
        f"{agents} agents played {matches:,} matches, {each} in each duel.{distinct} Ratings are those of the arena: "
        "one fit over all matches, on the Elo scale, with 95% intervals."
    )


def _table(rows: Sequence[ReportRow]) -> Iterator[str]:
    low, high = min((row.low for row in rows), default=0.0), max((row.high for row in rows), default=0.0)
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table><thead><tr>'
    yield '<th scope="col">Rank</th><th scope="col" class="name">Agent</th>'
    yield '<th scope="col">Rating</th><th scope="col" colspan="2">95% interval</th><th scope="col">Rank range</th>'
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


def _bar(row: ReportRow, low: float, high: float) -> str:
    """Return the interval as a line with its value as a dot."""
    width = max(1.0, high - low)
    left, right, dot = (100 * (value - low) / width for value in (row.low, row.high, row.rating))
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<line x1="{left:.1f}" x2="{right:.1f}" y1="5" y2="5" stroke="currentColor" stroke-width="1"/>'
        f'<rect x="{dot - 0.7:.1f}" y="2" width="1.4" height="6" fill="currentColor"/></svg>'
    )


def _cross(rows: Sequence[ReportRow], records: Sequence[DuelRecord], shown: Sequence[Shown]) -> Iterator[str]:
    # The first match shown of each duel.
    numbers = {one.record.players: one.number for one in reversed(shown)}
    cells = {}
    for record in records:
        for player in (0, 1):
            points, count = record.summary.points[player] / 2, len(record.matches)
            pair = record.players[player], record.players[1 - player]
            cells[pair] = _cell(points, count, numbers.get(record.players))
    yield '<p class="muted">Points of the agent on the left against that above, with the share of all points'
    yield f"{'; a link leads to a replay' if shown else ''}.</p>"
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Who beats whom"><table>'
    yield "<thead><tr><td></td>" + "".join(f'<th scope="col">{_name(row.name)}</th>' for row in rows)
    yield "</tr></thead><tbody>"
    for row in rows:
        found = "".join(cells.get((row.name, other.name), "<td></td>") for other in rows)
        yield f'<tr><th scope="row" class="name">{_name(row.name)}</th>{found}</tr>'
    yield "</tbody></table></div>"


def _cell(points: float, count: int, number: int | None) -> str:
    share = points / max(1, count)
    tone = "good" if share > 0.5 else "bad" if share < 0.5 else ""
    text = f"{points:g}/{count} ({share:.0%})"
    linked = text if number is None else f'<a href="#match={number}">{text}</a>'
    return f'<td class="{tone}">{linked}</td>'


def _name(name: str) -> str:
    return escape(plain_line(name))
