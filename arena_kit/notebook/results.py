"""The results of `arena_kit.play` as frozen values that a notebook shows: figures, a table, and boards that play."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from arena_kit.environment.episodes import EpisodeRecord, EvaluationRecord
from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from arena_kit.environment.replay_file.facts import ReplayAgent, ReplayFacts, ending
from arena_kit.environment.replay_file.page import replay_page
from arena_kit.environment.replay_file.views import FrameView, frame_views
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.html import lines, page_frame, picture, playing, table
from arena_kit.ranking.scores import Interval, mean_interval, share_interval
from arena_kit.text import plain_text

BOARDS = 4
"""At most this many small boards are shown with a result."""
BOARD_STATES = 40
"""A small board shows about this many states of its match, evenly spread, with the last one."""
BOARD_PIXELS = 220
PAGE_PIXELS = 720
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """A match or an episode that was played here; in a notebook a small board plays it."""

    spec: EnvironmentSpec
    record: MatchRecord | EpisodeRecord
    names: tuple[str, ...]

    @property
    def number(self) -> int:
        """Its number, from 1."""
        return self.record.number

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        return ending(self.record, self.names)

    @property
    def error(self) -> str:
        """The fault of a player in words, with its traceback; empty without a fault."""
        return "" if isinstance(self.record, EpisodeRecord) else plain_text(self.record.error)

    @property
    def winner(self) -> int | None:
        """The player that won, 1 or 2; None for a draw and an episode."""
        if isinstance(self.record, EpisodeRecord):
            return None
        return {Outcome.PLAYER_1: 1, Outcome.PLAYER_2: 2}.get(self.record.outcome)

    @property
    def states(self) -> list[FrameView]:
        """All states in order, each with `text`, `caption` and `svg`. Raises NotDrawable."""
        return frame_views(self.spec, self.record, self.names)

    @property
    def page(self) -> str:
        """The replay as one HTML page that works by itself. Raises NotDrawable."""
        agents = tuple(ReplayAgent(name, name) for name in self.names)
        return replay_page(self.spec, self.record, ReplayFacts(f"match-{self.number}", agents))

    def show(self, height: int = PAGE_PIXELS) -> MatchPage:
        """Return the replay, which a notebook shows with its controls. height: in pixels. Raises NotDrawable."""
        return MatchPage(self.page, f"Replay of match {self.number}", height)

    def save(self, path: str | Path) -> Path:
        """Write the replay page into a file and return its path. Raises NotDrawable and OSError."""
        Path(path).write_text(self.page, encoding="utf-8")
        return Path(path)

    def __str__(self) -> str:
        return f"{self.number}. {self.ending}."

    # A notebook keeps this text beside the picture, and shows it for several matches.
    __repr__ = __str__

    def _repr_html_(self) -> str:
        try:
            states = self.states
        except ArenaEnvironmentError as error:
            return lines(f"{self}\n{error}")
        stride = max(1, len(states) // BOARD_STATES)
        # The last state stays, whatever the stride is.
        board = playing([state.svg for state in states[-1::-stride][::-1]])
        return (
            '<figure style="display:inline-block;margin:0 12px 12px 0;vertical-align:top">'
            f"{picture(board, f'{self} {states[-1].text}', BOARD_PIXELS)}"
            f'<figcaption style="max-width:{BOARD_PIXELS}px">{escape(str(self))}</figcaption></figure>'
        )


@dataclass(frozen=True, slots=True)
class MatchPage:
    """A page that a notebook shows in a frame of its own. height: in pixels."""

    page: str = field(repr=False)
    title: str
    height: int

    def _repr_html_(self) -> str:
        return page_frame(self.page, self.title, self.height)


@dataclass(frozen=True, slots=True)
class PlayedMatches:
    """A duel that was played here. seconds: wall time."""

    spec: EnvironmentSpec
    record: DuelRecord
    seconds: float

    @property
    def names(self) -> tuple[str, str]:
        """The names of player 1 and player 2."""
        return self.record.players

    @property
    def score(self) -> Interval:
        """Player 1's share of the matches, 0 to 1, with its 95% interval: a win is 1, a draw 1/2.

        Matches that merely repeat another one count once for the interval.
        """
        summary, count = self.record.summary, self.record.summary.match_count
        share, distinct = summary.points[0] / (2 * count), self.record.distinct_matches or count
        found = share_interval(share * distinct, distinct)
        assert found is not None, "a duel has matches"
        return found

    @property
    def table(self) -> list[Row]:
        """One row for each player; `pandas.DataFrame(result.table)` takes them."""
        summary = self.record.summary
        return [
            {
                "player": name,
                "won": summary.wins[player],
                "drawn": summary.draws,
                "lost": summary.wins[1 - player],
                "forfeited": summary.errors[player],
                "score": summary.scores[player],
                "points": summary.points[player] / 2,
            }
            for player, name in enumerate(self.names)
        ]

    @property
    def matches(self) -> tuple[PlayedMatch, ...]:
        """All matches in order, that is, match 1 is `matches[0]`."""
        return tuple(PlayedMatch(self.spec, record, self.names) for record in self.record.matches)

    def losses(self, player: int = 1) -> tuple[PlayedMatch, ...]:
        """Return the matches that a player lost or forfeited. player: 1 or 2."""
        if player not in {1, 2}:
            raise ValueError(f"player must be 1 or 2, not {player!r}.")
        return tuple(match for match in self.matches if match.winner == 3 - player)

    def __str__(self) -> str:
        score, count = self.score, self.record.summary.match_count
        takes = f"{self.names[0]} scores {score.value:.0%} against {self.names[1]}"
        interval = f"95% interval {score.low:.0%} to {score.high:.0%}, {count} matches in {self.seconds:.1f} s"
        told = [f"{self.spec.name}: {takes} ({interval})."]
        distinct = self.record.distinct_matches
        if distinct is not None and distinct < count:
            told.append(f"Only {distinct} matches are distinct.")
        told += [f"First forfeit: match {match.number}. {match.error.splitlines()[0]}" for match in self._forfeits()]
        return " ".join(told)

    __repr__ = __str__

    def _forfeits(self) -> Iterator[PlayedMatch]:
        """Yield the first match that each player forfeited."""
        for player in (0, 1):
            found = (
                match
                for match, record in zip(self.matches, self.record.matches, strict=True)
                if record.fault is Fault.PLAYER and record.faulty_player == player
            )
            yield from [match for match in [next(found, None)] if match is not None]

    def _repr_html_(self) -> str:
        # One of each kind: lost, won, drawn, and forfeits.
        kinds = (*(next((m for m in self.matches if m.winner == winner), None) for winner in (2, 1, None)),)
        chosen = {match.number: match for match in (*kinds, *self._forfeits()) if match is not None}
        return _html(str(self), self.table, list(chosen.values()))


@dataclass(frozen=True, slots=True)
class PlayedEpisodes:
    """Episodes of one player that were played here. seconds: wall time. failure: why not all were played, or empty."""

    spec: EnvironmentSpec
    record: EvaluationRecord
    seconds: float
    failure: str = ""

    @property
    def score(self) -> Interval | None:
        """The mean score of an episode with its 95% interval; None if no episode was finished."""
        scores = [episode.score for episode in self.record.episodes]
        return mean_interval(scores) if scores else None

    @property
    def table(self) -> list[Row]:
        """One row for each episode; `pandas.DataFrame(result.table)` takes them."""
        return [
            {"episode": one.number, "seed": one.seed, "score": one.score, "steps": one.length}
            for one in self.record.episodes
        ]

    @property
    def matches(self) -> tuple[PlayedMatch, ...]:
        """All episodes in order."""
        return tuple(PlayedMatch(self.spec, record, (self.record.player,)) for record in self.record.episodes)

    def losses(self) -> tuple[PlayedMatch, ...]:
        """Return the episodes below the mean, the worst first."""
        score = self.score
        below = [match for match in self.matches if score is not None and _score(match) < score.value]
        return tuple(sorted(below, key=_score))

    def __str__(self) -> str:
        score, count = self.score, len(self.record.episodes)
        figures = (
            "no episode was finished"
            if score is None
            else f"{self.record.player} scores {score.value:.4g} in the mean "
            f"(95% interval {score.low:.4g} to {score.high:.4g}, {count} episodes in {self.seconds:.1f} s)"
        )
        return " ".join(filter(None, [f"{self.spec.name}: {figures}.", plain_text(self.failure)]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        ordered = sorted(self.matches, key=_score)
        rows = self.table if len(self.table) <= MOST_ROWS else self.table[:MOST_ROWS]
        return _html(str(self), rows, [ordered[0], ordered[-1]] if len(ordered) > 1 else ordered)


MOST_ROWS = 20
"""A notebook shows at most this many episodes; `table` has all."""


def _score(match: PlayedMatch) -> float:
    assert isinstance(match.record, EpisodeRecord)
    return match.record.score


def _html(sentence: str, rows: Sequence[Row], boards: Sequence[PlayedMatch]) -> str:
    shown = "".join(match._repr_html_() for match in boards[:BOARDS])
    return f"<p><b>{escape(sentence)}</b></p>{table(rows)}<div>{shown}</div>"
