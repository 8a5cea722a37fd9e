"""Brackets: who may meet whom is known before the first match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from arena_kit.ranking.formats.meetings import Records
from arena_kit.ranking.formats.plan import Decision, Meeting, Source, Stage, StageKind
from arena_kit.ranking.pairing import seed_order

NAMES = {
    "knock-out": "Knock-out",
    "third": "Third place",
    "winners": "Winners' bracket",
    "losers": "Losers' bracket",
    "final": "Grand final",
}
GRAND_FINAL = "F1"
RESET = "F2"
THIRD_PLACE = "T"


@dataclass(frozen=True, slots=True)
class FutureMeeting:
    """A future meeting. section: the part of the bracket in which it is drawn."""

    key: str
    section: str
    round: int
    number: int
    sources: tuple[Source, Source]


class _Builder:
    """Collects the meetings of a bracket; if a side is None, the other goes on without a meeting."""

    def __init__(self) -> None:
        self.slots: list[FutureMeeting] = []

    def meet(
        self, section: str, key: str, number: int, place: int, sides: Sequence[Source | None]
    ) -> tuple[Source | None, Source | None]:
        """Add a meeting in round `number` at `place` (0-based); return the sources of its winner and loser."""
        one, other = sides
        if one is None or other is None:
            return one or other, None
        self.slots.append(FutureMeeting(key, section, number, place + 1, (one, other)))
        return Source("winner", key), Source("loser", key)

    def winners(self, section: str, count: int) -> tuple[Source | None, list[list[Source | None]]]:
        """Add the bracket of participants without a loss; return the source of its winner, and its losers by round."""
        alive = [Source("seed", str(seed + 1)) if seed < count else None for seed in seed_order(bracket_size(count))]
        losers = []
        number = 0
        while len(alive) > 1:
            number += 1
            meetings = [
                self.meet(section, f"W{number}.{place + 1}", number, place, alive[2 * place : 2 * place + 2])
                for place in range(len(alive) // 2)
            ]
            alive = [winner for winner, _ in meetings]
            losers.append([loser for _, loser in meetings])
        return alive[0], losers


def bracket_size(count: int) -> int:
    """The smallest power of two for `count` participants; the remaining places are byes of the best seeds."""
    return 1 << (count - 1).bit_length()


def single_elimination(count: int, *, third_place: bool) -> list[FutureMeeting]:
    """A bracket in which a participant is out after one loss; the losers of the semi-finals may play for third place.

    It has count - 1 meetings, and one more for the third place.
    """
    builder = _Builder()
    _, losers = builder.winners("knock-out", count)
    if third_place:
        builder.meet("third", THIRD_PLACE, len(losers), 0, losers[-2])
    return builder.slots


def double_elimination(count: int) -> list[FutureMeeting]:
    """A bracket in which a participant is out after two losses.

    Losers of round r of the winners' bracket enter the losers' bracket in its round 2r - 2, those of round 1 in its
    round 1; its round r is round r + 1 of the tournament. Its winner meets the participant without a loss; if the
    latter loses, they meet once more. So there are 2 count - 2 meetings, or one more. Source: https://en.wikipedia.org/wiki/Double-elimination_tournament.
    """
    builder = _Builder()
    champion, losers = builder.winners("winners", count)

    def play(number: int, meetings: Iterable[tuple[Source | None, Source | None]]) -> list[Source | None]:
        return [
            builder.meet("losers", f"L{number}.{place + 1}", number + 1, place, sides)[0]
            for place, sides in enumerate(meetings)
        ]

    alive = losers[0]
    for drop, entering in enumerate(losers[1:]):
        alive = play(2 * drop + 1, zip(alive[::2], alive[1::2], strict=True))
        alive = play(2 * drop + 2, zip(crossing(entering, drop), alive, strict=True))
    last = 2 * len(losers)
    builder.meet("final", GRAND_FINAL, last, 0, (champion, alive[0]))
    builder.meet("final", RESET, last + 1, 0, (Source("winner", GRAND_FINAL), Source("loser", GRAND_FINAL)))
    return builder.slots


def crossing(losers: Sequence[Source | None], drop: int) -> list[Source | None]:
    """The order in which the losers of a round enter the losers' bracket, as the `drop`-th such round from 0.

    The order is reversed, then each half is reversed, then the halves are swapped, then left as it is, and so on, so
    that those who enter come from another part of the winners' bracket than those who wait. With k rounds in the
    winners' bracket no two meet again before round k of the losers' bracket, whatever the results (tested); later
    they may.
    """
    half = len(losers) // 2
    upper, lower = list(losers[:half]), list(losers[half:])
    orders = ([*lower[::-1], *upper[::-1]], [*upper[::-1], *lower[::-1]], [*lower, *upper], [*upper, *lower])
    return orders[drop % len(orders)]


Settle = Callable[[Meeting], Meeting]


def play_out(
    slots: Sequence[FutureMeeting],
    participants: Sequence[int | None],
    records: Records,
    settle: Settle,
    *,
    first_round: int = 1,
    origins: Sequence[Source] | None = None,
) -> list[Meeting]:
    """The meetings of a bracket, with the players that the records determine so far.

    participants: in seed order, None for those not known yet. origins: their sources, if these are not their seeds.
    first_round: the round of the tournament in which the bracket begins.
    """
    known: dict[Source, int | None] = {
        Source("seed", str(place)): who for place, who in enumerate(participants, start=1)
    }
    shown = {Source("seed", str(place)): origin for place, origin in enumerate(origins or (), start=1)}
    done: dict[str, Meeting] = {}
    for slot in sorted(slots, key=lambda slot: slot.round):
        one, other = (known.get(source) for source in slot.sources)
        number = slot.round + first_round - 1
        first, second = (shown.get(source, source) for source in slot.sources)
        meeting = Meeting(slot.key, number, slot.number, (one, other), (first, second))
        if slot.key == RESET and _is_over(done[GRAND_FINAL]):
            meeting = replace(meeting, decision=Decision.NOT_NEEDED, winner=one)
        else:
            meeting = settle(meeting.with_duels(records.of(number, one, other)))
        done[slot.key] = meeting
        known[Source("winner", slot.key)] = meeting.winner
        known[Source("loser", slot.key)] = meeting.loser
    return list(done.values())


def _is_over(final: Meeting) -> bool:
    """Return whether the winner of the grand final is its first side, who had no loss before."""
    return final.winner is not None and final.winner == final.players[0]


def stages(slots: Sequence[FutureMeeting], meetings: Sequence[Meeting]) -> tuple[Stage, ...]:
    """The sections of a bracket in order, each with its rounds."""
    section = {slot.key: slot.section for slot in slots}
    parts = []
    for key in dict.fromkeys(slot.section for slot in slots):
        own = sorted((row for row in meetings if section[row.key] == key), key=lambda row: (row.round, row.number))
        rounds = tuple(tuple(group) for _, group in groupby(own, key=lambda row: row.round))
        parts.append(Stage(key, NAMES[key], StageKind.BRACKET, rounds))
    return tuple(parts)


def lost_in(meetings: Sequence[Meeting], lives: int) -> dict[int, int]:
    """The round in which each participant who is out lost for the `lives`-th time."""
    losses: dict[int, int] = {}
    out = {}
    for meeting in meetings:
        loser = meeting.loser
        if loser is not None and meeting.key != THIRD_PLACE and meeting.decision is not Decision.NOT_NEEDED:
            losses[loser] = losses.get(loser, 0) + 1
            if losses[loser] == lives:
                out[loser] = meeting.round
    return out
