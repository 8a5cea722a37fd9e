"""Groups, then knock-out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from string import ascii_uppercase
from typing import ClassVar

from arena_kit.ranking.formats import bracket, play_off
from arena_kit.ranking.formats.contract import KnockOut
from arena_kit.ranking.formats.elimination import reached
from arena_kit.ranking.formats.meetings import Records, settle_knock_out
from arena_kit.ranking.formats.plan import History, Meeting, Outline, Source, Stage, Table
from arena_kit.ranking.formats.ranking import rank_rows, said
from arena_kit.ranking.formats.round_robin import all_play_all, check_meetings
from arena_kit.ranking.formats.settings import (
    Impossible,
    legs_setting,
    setting,
    setting_field,
    third_place_setting,
)
from arena_kit.ranking.pairing import seed_order, snake


@dataclass(frozen=True)
class GroupsKnockOut(KnockOut):
    """Round robin in groups; the best `advance` of each go on into single elimination.

    Seeds are dealt to the groups by a snake, so groups differ by at most one participant. A tie at the cut of a group
    is played out, see `play_off`, unless `cut_by_seed`; seeds break all other ties within a group. In the bracket the
    winners of the groups are seeded first, then the seconds, and so on; participants of one group meet as late as
    possible (with two of each group: in the final).

    Withdrawing during the groups annuls a participant's meetings there, as in a round robin, and puts them last in the
    group. A group that has lost too many still sends `advance` participants, and the opponents of those who are gone
    have walkovers. Withdrawing later changes nothing in the groups and is as in single elimination.
    """

    slug: ClassVar[str] = "groups-knock-out"
    name: ClassVar[str] = "Groups, then knock-out"
    rule: ClassVar[str] = (
        "All members of a group meet each other; the best of each group qualify for a knock-out bracket. In a group "
        "ties are broken as in a round robin, by wins, then by the total score. Equals meet again for the last place "
        "that qualifies; all other ties are broken by seed."
    )

    groups: int = setting(4, "How many groups play before the knock-out.", 2, len(ascii_uppercase))
    advance: int = setting(2, "How many members of each group qualify for the knock-out.", 1, 16)
    legs: int = legs_setting()
    third_place: bool = third_place_setting()
    cut_by_seed: bool = setting(
        default=False,
        meaning="Whether seeds decide a tie for the last place of a group that qualifies, instead of extra duels.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        through = self.groups * self.advance
        if self.third_place and through < 4:
            raise Impossible(
                f"A match for third place needs 4 participants in the knock-out, not {through}; leave it out.",
                field=setting_field("third_place"),
            )

    @property
    def fewest(self) -> int:
        return self.groups * (self.advance + 1)

    def check_count(self, count: int) -> None:
        if count < self.fewest:
            raise Impossible(
                f"{self.groups} groups of which {self.advance} each qualify need {self.fewest} participants, so that "
                f"each group loses at least one; there are {count}. Use fewer groups, let fewer qualify, or wait for "
                "more."
            )
        check_meetings(self._in_groups(count))

    def meeting_count(self, count: int) -> int:
        return self._in_groups(count) + self.groups * self.advance - 1 + self.third_place

    def depth(self, count: int) -> int:
        return 1 + (self.groups * self.advance - 1).bit_length()

    def pairs_of(self, meeting: Meeting) -> int:
        return self.extension_pairs if meeting.key.startswith(play_off.KEY) else super().pairs_of(meeting)

    def _in_groups(self, count: int) -> int:
        sizes = [len(seeds) for seeds in snake(count, self.groups)]
        return sum(size * (size - 1) // 2 for size in sizes) * self.legs

    def outline(self, history: History) -> Outline:
        records = Records(history)
        members = [
            [history.participants[seed] for seed in seeds] for seeds in snake(len(history.participants), self.groups)
        ]
        # Any group may be the largest, because the snake may end in any.
        largest = max(map(len, members))
        last_round = self.legs * (largest - 1 + largest % 2)
        annulled = {who for who, number in history.left.items() if number <= last_round}
        stages = tuple(
            all_play_all(
                f"group-{letter}",
                f"Group {letter}",
                group,
                self.legs,
                records,
                annulled=annulled,
                gone=history.left,
                stops_early=self.stops_early,
            )
            for letter, group in zip(ascii_uppercase, members, strict=False)
        )
        is_over = all(meeting.decision for stage in stages for meeting in stage.meetings)
        if is_over:
            most = 0 if self.cut_by_seed else self.extensions
            cut = partial(play_off.cut, begins=last_round + 1, most=most, early=self.stops_early)
            cuts = [cut(stage, self.advance, records, history) for stage in stages]
            stages = (*(one.group for one in cuts), *(one.played for one in cuts if one.played is not None))
            is_over = not any(one.is_open for one in cuts)
        places = [_places(stage) for stage in stages[: self.groups]]
        first_round = 1 + max(meeting.round for stage in stages for meeting in stage.meetings)
        seeding = qualifiers(self.groups, self.advance)
        through = [places[group][place] for group, place in seeding]
        participants: list[int | None] = list(through) if is_over else [None] * len(through)
        slots = bracket.single_elimination(len(seeding), third_place=self.third_place)
        meetings = bracket.play_out(
            slots,
            participants,
            records,
            partial(settle_knock_out, gone=history.gone, seeds=participants, extensions=self.extensions),
            first_round=first_round,
            origins=[Source("place", f"{ascii_uppercase[group]}{place + 1}") for group, place in seeding],
        )
        keys, columns = reached(through, meetings, lives=1)
        group_place = {who: place for group in places for place, who in enumerate(group, start=1)}
        # While the groups last, and for those who do not go on, only the place in the group decides.
        dropped = (last_round, *(0 for _ in columns[1:]))
        reach = {who: keys[who] if is_over and who in keys else dropped for who in history.participants}
        table = rank_rows(
            history.participants,
            {who: (*reach[who], 0 if is_over and who in keys else -group_place[who]) for who in history.participants},
            {who: (*reach[who], group_place[who]) for who in history.participants},
            gone=history.left,
            notes=said([*(meeting for stage in stages for meeting in stage.meetings), *meetings]),
        )
        return Outline((*stages, *bracket.stages(slots, meetings)), Table((*columns, "Place in group"), table))


def _places(stage: Stage) -> list[int]:
    """The participants of a group from first to last; rows of equals are in seed order already."""
    assert stage.table is not None
    return [row.participant for row in stage.table.rows]


@cache
def qualifiers(groups: int, advance: int) -> tuple[tuple[int, int], ...]:
    """The (group, place) that each seed of the bracket stands for, both 0-based.

    All firsts are seeded before all seconds. Within a place the groups are assigned so that their members meet as late
    as possible: a minimum-cost assignment in which a meeting one round earlier outweighs all later ones, and the
    natural order breaks ties.
    """
    # Imported here, because only pairing needs its twenty megabytes.
    import networkx as nx

    count = groups * advance
    size = bracket.bracket_size(count)
    position = {seed: place for place, seed in enumerate(seed_order(size))}
    taken: list[list[int]] = [[] for _ in range(groups)]
    seeding: list[tuple[int, int]] = []
    for place in range(advance):
        seeds = range(place * groups, (place + 1) * groups)
        graph = nx.Graph()
        costs = {
            (group, seed): _nearness([position[mate] for mate in taken[group]], position[seed], size, groups * count)
            + (group - (seed - seeds[0])) ** 2
            for group in range(groups)
            for seed in seeds
        }
        top = max(costs.values()) + 1
        graph.add_weighted_edges_from((("group", group), seed, top - cost) for (group, seed), cost in costs.items())
        found: dict[int, int] = {}
        for one, other in nx.max_weight_matching(graph, maxcardinality=True):
            (_, group), seed = (one, other) if isinstance(one, tuple) else (other, one)
            found[seed] = group
        for seed in seeds:
            seeding.append((found[seed], place))
            taken[found[seed]].append(seed)
    return tuple(seeding)


def _nearness(mates: Sequence[int], place: int, size: int, crowd: int) -> int:
    """The cost of a place of the bracket, given the places of other members of the group."""
    # Places meet in the round given by the highest bit in which they differ.
    last = size.bit_length()
    return sum(crowd ** (last - (place ^ mate).bit_length() + 2) for mate in mates)
