"""Round robin: all participants meet each other."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from arena_kit.ranking.formats.contract import MOST_MEETINGS, MeetingFormat
from arena_kit.ranking.formats.meetings import Records, settle_all_play_all
from arena_kit.ranking.formats.plan import Decision, History, Meeting, Outline, Row, Stage, StageKind, Table
from arena_kit.ranking.formats.ranking import BASELINE, WITHDRAWN, said
from arena_kit.ranking.formats.settings import Impossible, legs_setting
from arena_kit.ranking.pairing import round_robin
from arena_kit.ranking.standings import DuelResult, standings

COLUMNS = ("Points", "Wins", "Score")
COLUMNS_STOPPED = ("Points", "Wins", "Scores per match")
"""Columns if duels may end early: a quick winner plays fewer matches and would collect less total score."""


@dataclass(frozen=True)
class RoundRobin(MeetingFormat):
    """All participants meet once, or twice with seats swapped (`legs` 2), by Berger tables.

    All duels can be played at once. Table: 2 points for a meeting won, 1 for a draw; then wins, then the total score;
    ties share ranks. If duels may end early, the scores per match of all meetings are summed instead, so that meetings
    of any length count alike. All meetings of a participant who withdraws are annulled, also those already played, so
    that no participant gains from having met them. A meeting that the arena cannot play, three times void, does not
    count either. Baselines meet everyone, but stand below all others, and their meetings count in their own rows alone.
    """

    slug: ClassVar[str] = "round-robin"
    name: ClassVar[str] = "Round robin"
    rule: ClassVar[str] = (
        "All participants meet each other. A won meeting is worth 2 points, a draw 1. Ties are "
        "broken by wins, then by the total score."
    )
    takes_baselines: ClassVar[bool] = True
    baseline_rule: ClassVar[str] = (
        "Baselines play everyone but take no rank: a meeting with one counts in the row of the baseline alone."
    )

    legs: int = legs_setting()

    def check_count(self, count: int) -> None:
        if count < 2:
            raise Impossible(f"A round robin needs at least 2 participants, but there are {count}; wait for more.")
        check_meetings(self.meeting_count(count))

    def meeting_count(self, count: int) -> int:
        return count * (count - 1) // 2 * self.legs

    def outline(self, history: History) -> Outline:
        left = history.left
        stage = all_play_all(
            "table",
            self.name,
            history.participants,
            self.legs,
            Records(history),
            annulled=left,
            gone=left,
            stops_early=self.stops_early,
            baselines=history.baselines,
        )
        assert stage.table is not None
        return Outline((stage,), stage.table)


def check_meetings(count: int) -> None:
    if count > MOST_MEETINGS:
        raise Impossible(
            f"That would be {count} meetings, but at most {MOST_MEETINGS} can be played; "
            "take fewer participants, more groups, or a Swiss tournament."
        )


def all_play_all(
    key: str,
    name: str,
    participants: Sequence[int],
    legs: int,
    records: Records,
    *,
    annulled: Container[int],
    gone: Container[int],
    stops_early: bool,
    baselines: Collection[int] = (),
) -> Stage:
    """The stage in which `participants` all meet, from round 1 on. annulled: a part of those who are `gone`."""
    once = round_robin(len(participants))
    schedule = once if legs == 1 else [*once, *([(other, one) for one, other in pairs] for pairs in once)]
    rounds = []
    for number, pairs in enumerate(schedule, start=1):
        meetings = []
        for place, (first, second) in enumerate(pairs, start=1):
            players = participants[first], participants[second]
            meeting = Meeting(f"{key}.{number}.{place}", number, place, players)
            meeting = meeting.with_duels(records.of(number, *players))
            meetings.append(settle_all_play_all(meeting, annulled, gone))
        rounds.append(tuple(meetings))
    return Stage(
        key,
        name,
        StageKind.ALL_PLAY_ALL,
        tuple(rounds),
        all_play_all_table(participants, rounds, annulled, stops_early, baselines),
    )


def all_play_all_table(
    participants: Sequence[int],
    rounds: Sequence[Sequence[Meeting]],
    annulled: Container[int],
    stops_early: bool,
    baselines: Collection[int] = (),
) -> Table:
    """The table with points and ranks as in an edition, see `standings`; scores per match if duels may end early."""
    meetings = [meeting for pairs in rounds for meeting in pairs]
    results = []
    for number, meeting in enumerate(meetings):
        one, other = meeting.players
        if meeting.decision is Decision.PLAYED and one is not None and other is not None:
            scores = meeting.scores_per_match if stops_early else meeting.scores
            results.append(DuelResult(number, (one, other), meeting.points, scores))
    among = [row for row in results if not any(who in baselines for who in row.submissions)]
    ranked = [who for who in participants if who not in baselines]
    rows = standings(ranked, among, withdrawn=[who for who in ranked if who in annulled])
    below = standings(baselines, results, withdrawn=[who for who in baselines if who in annulled])
    rows += [replace(row, rank=len(ranked) + 1) for row in below]
    order = {who: place for place, who in enumerate(participants)}
    notes = said(meetings)
    return Table(
        COLUMNS_STOPPED if stops_early else COLUMNS,
        tuple(
            Row(
                row.submission,
                row.rank,
                (row.points, row.wins, row.total_score),
                (
                    *((BASELINE,) if row.submission in baselines else ()),
                    *((WITHDRAWN,) if row.submission in annulled else notes.get(row.submission, ())),
                ),
            )
            for row in sorted(rows, key=lambda row: (row.rank, order[row.submission]))
        ),
    )
