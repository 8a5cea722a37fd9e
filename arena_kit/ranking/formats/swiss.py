"""The Swiss system: few rounds, participants with equal points meet, and no two meet twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from arena_kit.ranking.formats.contract import MeetingFormat
from arena_kit.ranking.formats.meetings import Records, settle_swiss
from arena_kit.ranking.formats.plan import Decision, History, Meeting, Outline, Stage, StageKind, Table
from arena_kit.ranking.formats.ranking import HALVED, rank_rows, said
from arena_kit.ranking.formats.settings import Impossible, setting
from arena_kit.ranking.pairing import SwissPlayer, swiss_round

WIN, DRAW = 2, 1
COLUMNS = ("Points", "Buchholz", "Sonneborn-Berger")
SHORT = "Ended after {done} of {total} rounds: {reason}."


@dataclass(frozen=True)
class Swiss(MeetingFormat):
    """Round by round those with equal points meet, see `swiss_round`; 2 points for a meeting won, 1 for a draw.

    rounds: by default as many as it takes to leave one participant with only wins, log2 of the participants rounded up.
    Two never meet twice. While no participant withdraws, there is a pairing for half as many rounds as participants,
    rounded down; if a later round cannot be paired, the tournament ends early and says so. Table: points, then
    Buchholz, then Sonneborn-Berger, see `tie_breaks`.

    A participant who withdraws is not paired again; their results stand, and an open meeting is a walkover, 2 points
    for the opponent. A bye is 2 points, too. A meeting that the arena cannot play, three times void, is 1 point for
    each, and they do not meet again.
    """

    slug: ClassVar[str] = "swiss"
    name: ClassVar[str] = "Swiss"
    rule: ClassVar[str] = (
        "In each round participants with equal points meet, and no two meet twice. A won meeting is worth 2 points, a "
        "draw 1. Ties are broken by Buchholz, then by Sonneborn-Berger."
    )

    rounds: int | None = setting(
        None, "How many rounds are played.", 1, 100, worked_out="log2 of the participants, rounded up"
    )

    @property
    def fewest(self) -> int:
        return (self.rounds or 1) + 1

    def round_count(self, count: int, drawn: int) -> int:
        # Rounds are drawn one by one.
        return max(self._total(count), drawn)

    def _total(self, count: int) -> int:
        return self.rounds or (count - 1).bit_length()

    def meeting_count(self, count: int) -> int:
        return self._total(count) * (count // 2)

    def depth(self, count: int) -> int:
        return self._total(count)

    def check_count(self, count: int) -> None:
        if count < 2:
            raise Impossible(f"A Swiss tournament needs at least 2 participants, but there are {count}; wait for more.")
        if self.rounds is not None and self.rounds > count - 1:
            raise Impossible(
                f"{count} participants can play at most {count - 1} rounds without meeting twice, not {self.rounds}; "
                "take fewer rounds, or a round robin."
            )

    def outline(self, history: History) -> Outline:
        total = self._total(len(history.participants))
        records = Records(history)
        cards = _Cards(history)
        rounds: list[tuple[Meeting, ...]] = []
        notes: tuple[str, ...] = ()
        for number in range(1, total + 1):
            there = [who for who in history.participants if history.left.get(who, number) >= number]
            pairs = _round(records.pairs(number), there, cards)
            if pairs is None:
                reason = "no pairing is left without a second meeting"
                if len(there) < 2:
                    reason = "too few participants are left"
                notes = (SHORT.format(done=number - 1, total=total, reason=reason),)
                break
            meetings = tuple(
                _meeting(number, place, pair, records, history.gone)
                for place, pair in enumerate(cards.by_rank(pairs), start=1)
            )
            rounds.append(meetings)
            cards.add(meetings)
            if any(meeting.decision is None for meeting in meetings):
                break
        stage = Stage("swiss", self.name, StageKind.SWISS, tuple(rounds))
        keys = tie_breaks(history.participants, rounds, history.left, total)
        rows = rank_rows(history.participants, keys, keys, gone=history.left, notes=said(stage.meetings))
        return Outline((stage,), Table(COLUMNS, rows), notes)


Pairs = Sequence[tuple[int, int | None]]


def _round(drawn: Sequence[tuple[int, int]], there: Sequence[int], cards: _Cards) -> Pairs | None:
    """The pairs of a round, keeping those already drawn; None when there is no pairing.

    drawn: the pairs of duels that count. They stand, even if a later version of the pairing would draw the round
    otherwise. If some are missing, because they were struck or cancelled, the round is drawn again from the same
    standings, so with the same result; if the result differs all the same, the missing participants are paired among
    themselves.
    """
    paired = {who for pair in drawn for who in pair}
    if len(paired) < 2 * len(drawn) or not paired.issubset(there):
        # These pairs belong to a round that was drawn otherwise, so none of them can stand.
        drawn, paired = (), set()
    missing = [who for who in there if who not in paired]
    if drawn and len(missing) < 2:
        return [*drawn, *((who, None) for who in missing)]
    whole = cards.pair(there)
    if {frozenset(pair) for pair in drawn}.issubset({frozenset(pair) for pair in whole or ()}):
        return whole
    rest = cards.pair(missing)
    return whole if rest is None else [*drawn, *rest]


def _meeting(number: int, place: int, pair: tuple[int, int | None], records: Records, gone: Sequence[int]) -> Meeting:
    meeting = Meeting(f"swiss.{number}.{place}", number, place, pair)
    if pair[1] is None:
        return replace(meeting, decision=Decision.BYE, winner=pair[0])
    return settle_swiss(meeting.with_duels(records.of(number, *pair)), gone)


@dataclass
class _Card:
    """The figures of one participant after the rounds so far."""

    points: int = 0
    balance: int = 0
    byes: int = 0
    opponents: set[int] = field(default_factory=set)
    floated: int = 0


class _Cards:
    """The cards of all participants, updated round by round."""

    def __init__(self, history: History) -> None:
        self._cards = {who: _Card() for who in history.participants}
        self._seed = {who: place for place, who in enumerate(history.participants)}

    def pair(self, there: Sequence[int]) -> Pairs | None:
        """The pairs of the next round among these participants, in seed order."""
        if len(there) < 2:
            return None
        place = {who: number for number, who in enumerate(there)}
        pairs = swiss_round(
            tuple(
                SwissPlayer(
                    points=card.points,
                    balance=card.balance,
                    byes=card.byes,
                    opponents=frozenset(place[who] for who in card.opponents if who in place),
                    floated=card.floated,
                )
                for card in (self._cards[who] for who in there)
            )
        )
        if pairs is None:
            return None
        return [(there[one], None if other is None else there[other]) for one, other in pairs]

    def by_rank(self, pairs: Pairs) -> Pairs:
        """The pairs in the order of the boards: by their better players, byes last."""
        return sorted(
            pairs,
            key=lambda pair: (
                pair[1] is None,
                min((-self._cards[who].points, self._seed[who]) for who in pair if who is not None),
            ),
        )

    def add(self, meetings: Sequence[Meeting]) -> None:
        before = {who: card.points for who, card in self._cards.items()}
        for meeting in meetings:
            for side, who in enumerate(meeting.players):
                other = meeting.players[1 - side]
                if who is None:
                    continue
                card = self._cards[who]
                card.points += gain(meeting, who)
                card.byes += meeting.decision is Decision.BYE
                card.floated = 0
                if other is not None:
                    card.opponents.add(other)
                    card.floated = (before[who] > before[other]) - (before[who] < before[other])
                if meeting.decision is Decision.PLAYED:
                    card.balance += 1 - 2 * side


def gain(meeting: Meeting, who: int) -> int:
    """The points that one of the players has from a meeting."""
    if meeting.winner is not None:
        return WIN if meeting.winner == who else 0
    return DRAW if meeting.decision in HALVED else 0


def tie_breaks(
    participants: Sequence[int], rounds: Sequence[Sequence[Meeting]], left: Mapping[int, int], total: int
) -> dict[int, tuple[float, ...]]:
    """Points, Buchholz and Sonneborn-Berger of all participants, from the meetings decided so far.

    Buchholz: the sum of the opponents' points, without cuts. Sonneborn-Berger: the same with each opponent's points
    times the result against them (1, 1/2 or 0). Both use 2 points for a win. A round without a duel counts as one
    against a dummy with the participant's own points, but at most as many as `total` draws bring, and after a walkover
    at most as many as the absent opponent has. For an opponent who has withdrawn, later rounds count as draws. The
    names and the treatment of unplayed rounds follow FIDE's Tie-Break Regulations (Handbook C.07,
    https://handbook.fide.com); where they differ, these rules hold.
    """
    points = dict.fromkeys(participants, 0)
    absent = {
        who: sum(number > left[who] for number in range(1, len(rounds) + 1)) if who in left else 0
        for who in participants
    }
    decided = [meeting for meetings in rounds for meeting in meetings if meeting.decision is not None]
    for meeting in decided:
        for who in meeting.players:
            if who is not None:
                points[who] += gain(meeting, who)
    adjusted = {who: points[who] + DRAW * absent[who] for who in participants}
    buchholz = dict.fromkeys(participants, 0)
    berger = dict.fromkeys(participants, 0.0)
    for meeting in decided:
        for side, who in enumerate(meeting.players):
            other = meeting.players[1 - side]
            if who is None:
                continue
            if meeting.decision is Decision.PLAYED and other is not None:
                strength = adjusted[other]
            elif meeting.decision in (Decision.BYE, Decision.UNPLAYABLE) or other is None:
                strength = min(points[who], DRAW * total)
            else:
                strength = min(points[who], adjusted[other])
            buchholz[who] += strength
            berger[who] += strength * gain(meeting, who) / WIN
    return {who: (points[who], buchholz[who], berger[who]) for who in participants}
