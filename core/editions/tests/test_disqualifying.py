"""Organisers disqualify a participant: it leaves table and season, the others keep what they played."""

from __future__ import annotations

import pytest

from core.editions.advance import environment_advance
from core.editions.disqualifying import participant_disqualify, participant_readmit
from core.editions.previews import disqualification_preview
from core.editions.progress import tournament_step
from core.editions.tests.planned import begun, play_on, ranks
from core.editions.tests.samples import LATER, play, players
from core.errors import Refused
from core.models import Environment, JobState, Notice, Participant, Season, Tournament, TournamentState
from core.moderation.services import user_ban
from core.tests import factories
from core.tournaments.calendar import tournament_past_list
from core.tournaments.seasons import season_table

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
FORMATS = ("round-robin", "swiss", "single-elimination", "double-elimination", "groups-knock-out")


def over(kind: str) -> Tournament:
    """A tournament of twelve that has ended; who was uploaded first has won."""
    cup = begun(players(factories.environment(), 12), kind)
    play_on(cup)
    return fresh(cup)


def fresh(cup: Tournament) -> Tournament:
    return Tournament.objects.select_related("environment").get(pk=cup.pk)


def advance(cup: Tournament) -> None:
    environment_advance(Environment.objects.get(pk=cup.environment_id), now=LATER)


def first(cup: Tournament) -> Participant:
    return cup.participants.order_by("rank", "pk")[0]


@pytest.mark.parametrize("kind", FORMATS)
def test_after_the_end_it_leaves_the_table_nothing_is_replayed_and_it_may_return(kind: str) -> None:
    cup = over(kind)
    winner, before, count = first(cup), ranks(cup), cup.duels.count()
    foreseen = {one.participant.submission_id: one.after for one in disqualification_preview(winner)}

    participant_disqualify(participant=winner, reason="It read the opponent's memory.")
    advance(cup)

    row = first(cup)
    assert row.submission_id != winner.submission_id
    assert fresh(cup).state == TournamentState.FINISHED
    assert not cup.duels.filter(state=JobState.QUEUED).exists()
    assert cup.duels.count() == count
    after = ranks(cup)
    assert foreseen == {
        key: None if key == winner.submission_id else rank
        for key, rank in after.items()
        if key == winner.submission_id or rank != before[key]
    }
    (entry,) = tournament_past_list([fresh(cup)])
    assert winner.submission.agent.name not in str(entry.winners)
    told = Notice.objects.get(user=winner.submission.agent.owner, title__contains="disqualified")
    assert told.text.endswith("It read the opponent's memory.")
    with pytest.raises(Refused, match="It is disqualified already"):
        participant_disqualify(participant=winner, reason="Again.")

    participant_readmit(participant=winner)
    advance(cup)
    assert ranks(cup) == before
    assert Notice.objects.filter(user=told.user, title__contains="is back in").count() == 1
    with pytest.raises(Refused, match="It is not disqualified"):
        participant_readmit(participant=winner)


def test_a_season_gives_it_no_points_and_the_others_theirs() -> None:
    cup = over("round-robin")
    season = Season.objects.create(
        environment=cup.environment, name="Term", begins_at=factories.NOON, ends_at=LATER + (LATER - factories.NOON)
    )
    Tournament.objects.filter(pk=cup.pk).update(season=season)
    winner = first(cup)
    # The ban of an account does not stand in the way.
    user_ban(user=winner.submission.agent.owner, reason="It cheated.")
    participant_disqualify(participant=winner, reason="It cheated.")
    advance(cup)
    totals = {row.agent.pk: row.total for row in season_table(season).rows}
    assert totals[winner.submission.agent_id] == 0
    assert max(totals.values()) == 11


def test_while_it_runs_it_withdraws_and_cannot_return() -> None:
    cup = begun(players(factories.environment(), 6), "swiss")
    play_on(cup, until=2)
    row = first(fresh(cup))
    participant_disqualify(participant=row, reason="It cheated.")
    play_on(fresh(cup))
    assert fresh(cup).state == TournamentState.FINISHED
    row.refresh_from_db()
    assert row.withdrawn_at is not None
    with pytest.raises(Refused, match="It left while the tournament was played"):
        participant_readmit(participant=row)


def test_between_the_last_result_and_the_end_it_leaves_the_table_too() -> None:
    cup = begun(players(factories.environment(), 4), "round-robin")
    for duel in cup.duels.filter(state=JobState.QUEUED).order_by("number"):
        play(duel)
    row = first(cup)
    participant_disqualify(participant=row, reason="It cheated.")
    tournament_step(fresh(cup), now=LATER)
    row.refresh_from_db()
    assert fresh(cup).state == TournamentState.FINISHED
    assert row.withdrawn_at is not None
    assert row.rank == 4


def test_an_edition_of_the_arena_disqualifies_none() -> None:
    environment = factories.environment()
    edition = factories.tournament(players(environment, 3))
    with pytest.raises(Refused, match="Disable the agent instead"):
        participant_disqualify(participant=first(edition), reason="It cheated.")
