"""Rounds are revealed one by one: each shows the tournament as it stood after it, and nothing that came later."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser

from arena_kit.ranking.formats import Outline
from core.editions.progress import plan_of, tournament_step
from core.editions.revealing import can_reveal, round_next, round_reveal, standing_get
from core.editions.tests.planned import begun, play_on
from core.editions.tests.samples import LATER, play, players
from core.errors import Refused
from core.models import Audience, JobState, LedgerChange, Submission, Tournament, TournamentState, User
from core.moderation.withdrawals import participants_withdraw, playing_rows
from core.tests import factories
from core.tournaments.results import duel_visible, rounds_visible
from core.tournaments.voiding import round_void

pytestmark = pytest.mark.django_db
STRANGER = AnonymousUser()


@pytest.fixture
def six(db: None) -> list[Submission]:
    return players(factories.environment(), 6)


@pytest.fixture
def hidden(six: list[Submission]) -> Tournament:
    cup = begun(six, "single-elimination", extensions=0)
    Tournament.objects.filter(pk=cup.pk).update(results=Audience.HIDDEN)
    cup.refresh_from_db()
    return cup


def shown(tournament: Tournament, viewer: User | AnonymousUser = STRANGER) -> Outline | None:
    tournament.refresh_from_db()
    drawn = standing_get(tournament, rounds_visible(tournament, viewer))
    return None if drawn is None else drawn.outline


def decided(outline: Outline | None) -> set[str]:
    return {meeting.key for meeting in outline.meetings if meeting.decision} if outline else set()


def test_each_round_shows_what_was_known_after_it(hidden: Tournament) -> None:
    states = []
    for number in (1, 2, 3):
        with pytest.raises(Refused, match=f"Round {number} is not over yet"):
            round_reveal(tournament=hidden, to=Audience.PUBLIC) if number == 1 else reveal_all(hidden, number)
        for duel in hidden.duels.filter(state=JobState.QUEUED).order_by("number"):
            play(duel)
        tournament_step(hidden, now=LATER)
        states.append((plan_of(hidden).table, decided(plan_of(hidden))))
    Tournament.objects.filter(pk=hidden.pk).update(revealed_to_all=0)
    assert shown(hidden) is None
    for number, (table, keys) in enumerate(states[:2], start=1):
        hidden.refresh_from_db()
        assert round_reveal(tournament=hidden, to=Audience.PUBLIC) == number
        outline = shown(hidden)
        assert outline is not None
        assert (outline.table, decided(outline)) == (table, keys)
        for duel in hidden.duels.select_related("tournament"):
            assert duel_visible(duel, STRANGER) == (duel.round <= number)
    assert hidden.results == Audience.HIDDEN
    assert round_reveal(tournament=hidden, to=Audience.PUBLIC) == 3
    assert hidden.results == Audience.PUBLIC
    assert LedgerChange.objects.filter(tournament=hidden, kind=LedgerChange.Kind.RELEASE).exists()
    assert not can_reveal(hidden, Audience.PUBLIC)
    outline = shown(hidden)
    assert outline is not None
    assert outline.table == states[2][0]


def reveal_all(tournament: Tournament, number: int) -> None:
    """Reveal rounds until round `number`, which is not over."""
    while round_next(tournament, Audience.PUBLIC) < number:
        round_reveal(tournament=tournament, to=Audience.PUBLIC)
    round_reveal(tournament=tournament, to=Audience.PUBLIC)


def test_a_second_press_of_the_same_button_reveals_no_further_round(hidden: Tournament) -> None:
    play_on(hidden, until=3)
    assert round_reveal(tournament=hidden, to=Audience.PUBLIC, number=1) == 1
    with pytest.raises(Refused, match="Round 2 is the next to reveal, not round 1"):
        round_reveal(tournament=hidden, to=Audience.PUBLIC, number=1)
    assert hidden.revealed_to_all == 1


def test_a_final_without_a_duel_is_revealed_with_all_results(hidden: Tournament) -> None:
    play_on(hidden, until=3)
    for number in (1, 2):
        round_reveal(tournament=hidden, to=Audience.PUBLIC, number=number)
    final = hidden.duels.get(round=3)
    leaving = hidden.participants.get(submission=final.player_1)
    participants_withdraw(playing_rows([leaving.submission.agent]).filter(pk=leaving.pk))
    play_on(hidden)
    hidden.refresh_from_db()
    assert (hidden.state, hidden.duels.exclude(state=JobState.CANCELLED).count()) == (TournamentState.FINISHED, 4)
    round_reveal(tournament=hidden, to=Audience.PUBLIC)
    assert hidden.results == Audience.PUBLIC


def test_participants_may_see_a_round_first(hidden: Tournament, six: list[Submission]) -> None:
    owner, stranger = six[0].agent.owner, factories.user("erik")
    play_on(hidden, until=3)
    assert round_reveal(tournament=hidden, to=Audience.PARTICIPANTS) == 1
    assert round_reveal(tournament=hidden, to=Audience.PARTICIPANTS) == 2
    assert [bool(shown(hidden, one)) for one in (owner, stranger, STRANGER)] == [True, False, False]
    assert round_reveal(tournament=hidden, to=Audience.PUBLIC) == 1
    seen = [len(decided(shown(hidden, one))) for one in (owner, stranger, STRANGER)]
    assert seen == [4, 2, 2]
    play_on(hidden)
    assert round_reveal(tournament=hidden, to=Audience.PARTICIPANTS) == 3
    # The last round: participants see all of it, all others still see round 1.
    assert hidden.results == Audience.PARTICIPANTS
    assert [len(decided(shown(hidden, one))) for one in (owner, stranger)] == [5, 2]
    assert not can_reveal(hidden, Audience.PARTICIPANTS)
    assert can_reveal(hidden, Audience.PUBLIC)


def test_a_revealed_round_that_is_void_is_hidden_until_it_is_revealed_again(hidden: Tournament) -> None:
    play_on(hidden, until=3)
    for to in (Audience.PUBLIC, Audience.PUBLIC):
        round_reveal(tournament=hidden, to=to)
    round_void(tournament=hidden, number=2, reason="The clock was wrong.", user=None)
    hidden.refresh_from_db()
    assert hidden.revealed_to_all == 1
    with pytest.raises(Refused, match="Round 2 is not over yet"):
        round_reveal(tournament=hidden, to=Audience.PUBLIC)
    play_on(hidden)
    assert len(decided(shown(hidden))) == 2


def test_who_leaves_later_still_stands_in_the_revealed_rounds(hidden: Tournament, six: list[Submission]) -> None:
    play_on(hidden, until=3)
    row = hidden.participants.get(submission=six[0])
    Tournament.objects.filter(pk=hidden.pk).update(revealed_to_all=1)
    before = shown(hidden)
    hidden.participants.filter(pk=row.pk).update(withdrawn_at=LATER, left_after=3, disqualified_because="It mines.")
    assert shown(hidden) == before
    drawn = standing_get(hidden, 1)
    assert drawn is not None
    rows = drawn.participants.values()
    assert not [one for one in rows if one.withdrawn_at or one.disqualified_because]


def test_results_that_are_not_withheld_are_not_revealed(six: list[Submission]) -> None:
    cup = begun(six, "single-elimination")
    play_on(cup)
    for to in (Audience.PUBLIC, Audience.PARTICIPANTS):
        with pytest.raises(Refused, match="no rounds that are withheld"):
            round_reveal(tournament=cup, to=to)
