"""What holds of every format: the same history gives the same plan, and whatever is taken back is asked for again."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_kit.ranking.formats import (
    FORMATS,
    CountedDuel,
    DoubleElimination,
    DuelOrder,
    DuelState,
    Format,
    GroupsKnockOut,
    History,
    Impossible,
    RoundRobin,
    SingleElimination,
    Swiss,
    format_make,
    format_settings,
)
from arena_kit.tests.ranking.format_samples import (
    by_chance,
    participants,
    plain,
    play_on,
    played,
    record,
    schedule,
    stronger_wins,
)

ALL: list[Format] = [
    RoundRobin(),
    RoundRobin(legs=2),
    Swiss(),
    SingleElimination(third_place=True),
    DoubleElimination(),
    GroupsKnockOut(groups=2, advance=2, third_place=True, cut_by_seed=True),
]
PLAYED_OUT = GroupsKnockOut(groups=2, advance=2)
formats = st.sampled_from([*ALL, PLAYED_OUT])
counts = st.integers(6, 13)
seeds = st.integers(0, 999)
few = settings(max_examples=25, deadline=None)


@few
@given(formats, counts, seeds, st.data())
def test_any_part_of_a_history_leads_to_the_same_duels(
    form: Format, count: int, seed: int, data: st.DataObject
) -> None:
    duels, plans = play_on(form, participants(count), by_chance(seed))
    part = data.draw(st.integers(0, len(duels)))
    again, _ = play_on(form, participants(count), by_chance(seed), duels[:part])
    assert plain(again) == plain(duels)
    assert not any(plan.stale for plan in plans)


@few
@given(st.sampled_from(ALL), counts, seeds)
def test_no_tournament_has_more_meetings_than_foretold(form: Format, count: int, seed: int) -> None:
    for wins in (stronger_wins, by_chance(seed)):
        duels, _ = play_on(form, participants(count), wins)
        met = {(duel.round, frozenset(duel.players)) for duel in duels}
        rounds = len({duel.round for duel in duels})
        assert len(met) <= form.meeting_count(count)
        # Rounds of a group are independent of each other, and the grand final may be played once more.
        assert 1 <= form.depth(count) <= rounds + 1
    if isinstance(form, RoundRobin | SingleElimination | GroupsKnockOut):
        assert len(met) == form.meeting_count(count)


@few
@given(formats, counts)
def test_two_who_meet_again_have_another_encounter_each_time(form: Format, count: int) -> None:
    """Where duels share openings, those of one encounter do: the first duels of all pairs, and so on."""
    who = participants(count)
    history: list[CountedDuel] = []
    met: dict[frozenset[int], list[int]] = {}
    while orders := form.plan(History(who, tuple(history), seed=7)).play:
        for order in orders:
            met.setdefault(frozenset(order.players), []).append(order.encounter)
            history.append(played(order, stronger_wins(order)))

    assert met
    assert all(numbers[0] == 0 for numbers in met.values())
    assert all(len(set(numbers)) == len(numbers) for numbers in met.values())


@few
@given(formats, counts, seeds)
def test_planning_twice_before_anything_has_happened_changes_nothing(form: Format, count: int, seed: int) -> None:
    who = participants(count)
    duels, _ = play_on(form, who, by_chance(seed))
    half = duels[: len(duels) // 2]
    plan = form.plan(History(who, tuple(half), seed=7))
    created = [record(order.round, order.players) for order in plan.play]
    again = form.plan(History(who, (*half, *created), seed=7))
    assert not again.play
    assert {duel.key for duel in again.waiting} == {duel.key for duel in created}
    assert schedule(again) == schedule(plan)
    assert again.table == plan.table


@few
@given(formats, counts, seeds, seeds, st.data())
def test_a_round_that_is_voided_is_played_again_and_all_after_it_follows(
    form: Format, count: int, seed: int, other: int, data: st.DataObject
) -> None:
    who = participants(count)
    duels, _ = play_on(form, who, by_chance(seed))
    number = data.draw(st.sampled_from(sorted({duel.round for duel in duels})))
    rest = [duel for duel in duels if duel.round != number]

    plan = form.plan(History(who, tuple(rest), seed=7))
    assert plan.round == number
    first = [duel for duel in duels if duel.round == number]
    assert {order.players for order in plan.play} == {duel.players for duel in first}

    replayed, plans = play_on(form, who, by_chance(other), rest)
    # As if the tournament had been played like this from the start.
    results = {(duel.round, duel.players, index): duel.points[0] for index, duel in indexed(replayed)}
    fresh: dict[tuple[int, tuple[int, int]], int] = {}

    def as_replayed(order: DuelOrder) -> int:
        key = (order.round, order.players)
        fresh[key] = fresh.get(key, -1) + 1
        return results[(*key, fresh[key])]

    straight, straight_plans = play_on(form, who, as_replayed)
    assert plain(straight) == plain(replayed)
    assert straight_plans[-1].table == plans[-1].table


def indexed(duels: list[CountedDuel]) -> list[tuple[int, CountedDuel]]:
    """Each duel with how many of the same meeting came before it."""
    ordered = sorted(duels, key=lambda duel: (duel.round, duel.players))
    groups = [list(group) for _, group in groupby(ordered, key=lambda duel: (duel.round, duel.players))]
    return [pair for group in groups for pair in enumerate(group)]


@few
@given(formats, counts, seeds, st.data())
def test_a_player_that_withdraws_stands_last_and_is_not_waited_for(
    form: Format, count: int, seed: int, data: st.DataObject
) -> None:
    who = participants(count)
    gone = data.draw(st.lists(st.sampled_from(who), min_size=1, max_size=3, unique=True))
    stop = data.draw(st.integers(1, 4))
    duels, plans = play_on(form, who, by_chance(seed), until=lambda plan: (plan.round or 99) >= stop)
    left = dict.fromkeys(gone, plans[-1].round or stop)

    after, plans = play_on(form, who, by_chance(seed), duels, left)
    table = plans[-1].table
    assert plans[-1].is_finished
    assert all(meeting.decision for meeting in plans[-1].meetings)
    assert {row.participant for row in table.rows if "Withdrew." in row.notes} == set(gone)
    assert [row.participant for row in table.rows][-len(gone) :] == sorted(gone)
    assert {row.rank for row in table.rows[-len(gone) :]} == {count - len(gone) + 1}
    assert not any(set(duel.players) & set(gone) for duel in after if duel not in duels)


@pytest.mark.parametrize("form", ALL, ids=lambda form: form.slug)
def test_a_duel_that_goes_on_ending_void_is_given_up_after_three(form: Format) -> None:
    who = participants(6)
    order = form.plan(History(who)).play[0]
    void = [record(order.round, order.players, DuelState.VOID) for _ in range(3)]
    seeds = {order.seed}
    for tries in range(1, 3):
        again = form.plan(History(who, tuple(void[:tries]))).play
        seeds |= {row.seed for row in again if row.players == order.players}
        assert len(seeds) == tries + 1
    assert order.players not in {row.players for row in form.plan(History(who, tuple(void))).play}
    _, plans = play_on(form, who, stronger_wins, void)
    assert plans[-1].is_finished
    assert any("The arena could not play this meeting." in note for row in plans[-1].table.rows for note in row.notes)


def test_duels_of_players_that_do_not_follow_are_to_be_taken_back() -> None:
    who = participants(4)
    stray = record(2, (who[0], who[3]), DuelState.PLAYED, (2, 0))
    assert SingleElimination().plan(History(who, (stray,))).stale == (stray,)


@pytest.mark.parametrize("form", ALL, ids=lambda form: form.slug)
def test_an_open_duel_of_a_player_that_withdraws_is_to_be_taken_back(form: Format) -> None:
    who = participants(6)
    first = form.plan(History(who))
    duels = tuple(record(order.round, order.players) for order in first.play)
    one = first.play[0].players[0]
    plan = form.plan(History(who, duels, {one: 1}))
    assert {duel.key for duel in plan.stale} == {duel.key for duel in duels if one in duel.players}


@pytest.mark.parametrize(
    ("form", "count", "says"),
    [
        (RoundRobin(), 1, "at least 2 participants, but there are 1"),
        (Swiss(), 1, "at least 2 participants"),
        (Swiss(rounds=6), 6, "at most 5 rounds without meeting twice"),
        (SingleElimination(), 1, "at least 2"),
        (SingleElimination(third_place=True), 3, "needs 4 participants"),
        (DoubleElimination(), 2, "at least 3 participants"),
        (GroupsKnockOut(groups=4, advance=2), 11, "need 12 participants"),
        (Swiss(), 501, "takes at most 500 participants, but there are 501"),
        (RoundRobin(), 101, "would be 5050 meetings, but at most 5000"),
        (GroupsKnockOut(groups=2), 200, "would be 9900 meetings"),
    ],
)
def test_too_few_or_too_many_participants_are_refused(form: Format, count: int, says: str) -> None:
    with pytest.raises(Impossible, match=says):
        form.plan(History(participants(count)))


@pytest.mark.parametrize(
    ("slug", "wrong", "says"),
    [
        ("ladder", {}, "no format 'ladder'; take one of round-robin, swiss"),
        ("swiss", {"cycles": 3}, "no setting 'cycles'. Its settings are pairs"),
        ("swiss", {"rounds": "3"}, "make it a whole number"),
        ("swiss", {"rounds": 0}, "make it a whole number from 1 to 100"),
        ("swiss", {"pairs": True}, "make it a whole number"),
        ("swiss", {"pairs": 0}, "pairs is 0; make it a whole number from 1 to 1000"),
        ("swiss", {"pairs": 10**9}, "make it a whole number from 1 to 1000"),
        ("swiss", {"extensions": 1}, "no setting 'extensions'. Its settings are pairs"),
        ("single-elimination", {"extension_pairs": 1001}, "make it a whole number from 1 to 1000"),
        ("single-elimination", {"extensions": -1}, "make it a whole number from 0 to 20"),
        ("single-elimination", {"extensions": 21}, "make it a whole number from 0 to 20"),
        ("round-robin", {"legs": 3}, "make it a whole number from 1 to 2"),
        ("single-elimination", {"third_place": 1}, "make it true or false"),
        ("groups-knock-out", {"groups": 1}, "make it a whole number from 2 to 26"),
        ("groups-knock-out", {"advance": 0}, "make it a whole number from 1 to 16"),
        ("groups-knock-out", {"groups": 2, "advance": 1, "third_place": True}, "needs 4"),
    ],
)
def test_settings_that_cannot_be_are_refused(slug: str, wrong: dict[str, object], says: str) -> None:
    with pytest.raises(Impossible, match=says):
        format_make(slug, wrong)


@pytest.mark.parametrize("form", ALL, ids=lambda form: form.slug)
def test_settings_make_the_same_format_again(form: Format) -> None:
    assert format_make(form.slug, format_settings(form)) == form
    assert FORMATS[form.slug] is type(form)


def test_a_history_of_strangers_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="not take part"):
        History((1, 2), (record(1, (1, 3)),))
    with pytest.raises(ValueError, match="A participant occurs twice"):
        History((1, 1))
    with pytest.raises(ValueError, match="A duel occurs twice"):
        History((1, 2), (record(1, (1, 2)),) * 2)


def test_a_double_round_robin_swaps_seats() -> None:
    duels, _ = play_on(RoundRobin(legs=2), participants(5), stronger_wins)
    pairs = [duel.players for duel in duels]
    assert len(set(pairs)) == len(pairs) == 20
    assert {(other, one) for one, other in pairs} == set(pairs)


def test_a_round_robin_counts_points_wins_and_scores() -> None:
    who = participants(3)
    form = RoundRobin()
    points = {frozenset((101, 102)): 101, frozenset((102, 103)): 102, frozenset((101, 103)): 103}
    orders = form.plan(History(who)).play
    duels = []
    for order in orders:
        won = order.players.index(points[frozenset(order.players)])
        score = (5.0 if points[frozenset(order.players)] == 103 else 1.0) * (1 - 2 * won)
        duels.append(record(order.round, order.players, DuelState.PLAYED, (2 - 2 * won, 2 * won), (score, -score)))
    rows = form.plan(History(who, tuple(duels))).table.rows
    assert [(row.participant, row.rank, row.values) for row in rows] == [
        (103, 1, (2, 1, 4.0)),
        (102, 2, (2, 1, 0.0)),
        (101, 3, (2, 1, -4.0)),
    ]


def test_results_against_a_player_that_withdrew_do_not_count() -> None:
    who = participants(4)
    duels, _ = play_on(RoundRobin(), who, stronger_wins)
    plan = RoundRobin().plan(History(who, tuple(duels), {104: 2}))
    assert [(row.participant, row.rank, row.values[0]) for row in plan.table.rows] == [
        (101, 1, 4),
        (102, 2, 2),
        (103, 3, 0),
        (104, 4, 0),
    ]
    assert plan.is_finished
    # They stay in the ledger: leaving does not take back what was played.
    assert not plan.stale


def test_a_replay_of_the_same_duel_has_its_seed_and_every_other_duel_another() -> None:
    who = participants(8)
    form = SingleElimination()
    orders = form.plan(History(who, seed=7)).play
    assert form.plan(History(who, seed=7)).play == orders
    assert len({order.seed for order in orders}) == len(orders)
    assert {order.seed for order in form.plan(History(who, seed=8)).play}.isdisjoint(order.seed for order in orders)
    level = form.plan(History(who, (played(orders[0], 1),), seed=7))
    extension = next(order for order in level.play if order.players == orders[0].players)
    assert extension.seed != orders[0].seed
    assert (extension.pairs, orders[0].pairs) == (form.extension_pairs, form.pairs)
