"""Agents that crash in duels again and again: caught once, told, and how they come back."""

from __future__ import annotations

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from core.duels.services import duel_new, duels_enqueue
from core.jobs.artifacts import DuelArtifacts
from core.models import (
    Agent,
    Audience,
    Duel,
    Environment,
    JobState,
    LedgerEntry,
    LedgerVoid,
    Notice,
    Promotion,
    PromotionState,
    Submission,
    Tournament,
    TournamentState,
    Validation,
)
from core.moderation.crashes import crash_streak, crashed_in
from core.moderation.services import agent_disable, agent_enable, quarantine_where_due
from core.notices.mails import mails_send
from core.people.services import anonymous_ensure
from core.submissions.phases import validation_succeed
from core.tests import factories
from core.tests.concurrency import at_once

AFTER = 3
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(autouse=True)
def few_are_enough(settings: Settings) -> None:
    settings.QUARANTINE_AFTER = AFTER


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


@pytest.fixture
def crasher(environment: Environment) -> Submission:
    return factories.ready(factories.agent(factories.user("carl"), environment, "crasher"))


@pytest.fixture
def rival(environment: Environment) -> Submission:
    return factories.ready(factories.agent(factories.user("rita"), environment, "rival"))


def edition(*rows: Submission) -> Tournament:
    """A running edition with no duel played."""
    tournament = factories.tournament(rows, state=TournamentState.RUNNING)
    factories.moved(tournament.duels.all(), JobState.QUEUED)
    return tournament


def rated(
    tournament: Tournament, first: Submission, second: Submission, errors: tuple[int, int], plays: int = 0
) -> Duel:
    """A rated duel over two seats: how many matches each forfeited, and how many were played from each seat."""
    number = tournament.duels.count() + 1
    duel = factories.duel(tournament, first, second, number=number, state=JobState.SUCCEEDED)
    sides = ((first, second, errors[0], errors[1]), (second, first, errors[1], errors[0]))
    for player, other, own, others in sides:
        for seat in (0, 1):
            LedgerEntry.objects.create(
                duel=duel, submission=player, opponent=other, seat=seat, wins=0, losses=0, draws=plays, errors=own,
                opponent_errors=others, score=0,
            )  # fmt: skip
    return duel


def crash(tournament: Tournament, crasher: Submission, rival: Submission) -> Duel:
    return rated(tournament, crasher, rival, (5, 0))


def streak(row: Submission) -> int:
    row.agent.refresh_from_db()
    return crash_streak(row, most=AFTER)


# --- Counting ----------------------------------------------------------------------------------------------


def test_duels_forfeited_from_the_first_match_to_the_last_are_counted_from_the_latest_on(
    crasher: Submission, rival: Submission
) -> None:
    tournament = edition(crasher, rival)
    for expected in (1, 2, 3, 3):
        crash(tournament, crasher, rival)
        assert (streak(crasher), streak(rival)) == (expected, 0)
    rated(tournament, rival, crasher, (0, 4), plays=1)
    assert streak(crasher) == 0, "it has played one match"
    crash(tournament, crasher, rival)
    assert streak(crasher) == 1


def test_duels_whose_entries_come_in_turns_are_counted_once_each(crasher: Submission, rival: Submission) -> None:
    tournament = edition(crasher, rival)
    # As the numbers of two that are written at the same moment may be.
    duels = [factories.duel(tournament, crasher, rival, number=number, state=JobState.SUCCEEDED) for number in (2, 3)]
    for seat in (0, 1):
        for duel in duels:
            LedgerEntry.objects.create(
                duel=duel, submission=crasher, opponent=rival, seat=seat, wins=0, losses=0, draws=0, errors=5,
                opponent_errors=0, score=0,
            )  # fmt: skip
    assert streak(crasher) == 2


def test_a_duel_in_which_the_opponent_crashed_says_nothing(crasher: Submission, rival: Submission) -> None:
    tournament = edition(crasher, rival)
    crash(tournament, crasher, rival)
    rated(tournament, rival, crasher, (5, 0))
    crash(tournament, crasher, rival)
    assert streak(crasher) == 2


def test_struck_duels_and_forgiven_ones_are_not_counted(crasher: Submission, rival: Submission) -> None:
    tournament = edition(crasher, rival)
    duels = [crash(tournament, crasher, rival) for _ in range(3)]
    LedgerVoid.objects.create(duel=duels[0], reason="The engine was at fault.")
    assert streak(crasher) == 2
    agent_enable(agent=crasher.agent)
    assert streak(crasher) == 0


def test_one_look_at_the_ledger_tells_and_without_crashes_no_agent_is_looked_at(
    crasher: Submission, rival: Submission, django_assert_num_queries: pytest.FixtureRequest
) -> None:
    tournament = edition(crasher, rival)
    rated(tournament, crasher, rival, (2, 1), plays=1)
    with django_assert_num_queries(1):  # type: ignore[operator]
        assert quarantine_where_due(tournament=tournament) == []
    crash(tournament, crasher, rival)
    assert crashed_in(tournament) == [crasher]
    # One crash takes no lock.
    with django_assert_num_queries(2):  # type: ignore[operator]
        assert quarantine_where_due(tournament=tournament) == []
    with django_assert_num_queries(1):  # type: ignore[operator]
        crash_streak(crasher, most=AFTER)


# --- Caught ------------------------------------------------------------------------------------------------


def caught(tournament: Tournament, crasher: Submission, rival: Submission) -> Agent:
    for _ in range(AFTER):
        crash(tournament, crasher, rival)
    (agent,) = quarantine_where_due(tournament=tournament)
    agent.refresh_from_db()
    return agent


def test_who_crashes_too_often_is_paused_taken_out_and_told_once(crasher: Submission, rival: Submission) -> None:
    tournament = edition(crasher, rival)
    for _ in range(AFTER - 1):
        crash(tournament, crasher, rival)
    assert quarantine_where_due(tournament=tournament) == []

    crash(tournament, crasher, rival)
    assert quarantine_where_due(tournament=tournament) == [crasher.agent]
    assert quarantine_where_due(tournament=tournament) == []
    mails_send()

    agent = Agent.objects.get(pk=crasher.agent_id)
    assert (agent.is_disabled, agent.is_quarantined, agent.quarantined_number) == (True, True, 1)
    assert agent.disabled_reason == "Version 1 forfeited every match of 3 duels in a row."
    assert not tournament.duels.filter(state=JobState.QUEUED).exists()
    assert tournament.participants.exclude(withdrawn_at=None).get().submission == crasher
    (letter,) = mail.outbox
    assert letter.to == ["carl@arena.example"]
    assert "upload a new version" in letter.body


@pytest.mark.parametrize("is_crash", [True, False])
def test_duels_of_challenges_are_taken_before_tournaments_however_an_agent_is_stopped(
    crasher: Submission, rival: Submission, is_crash: bool
) -> None:
    """On PostgreSQL two who stop the players of one duel in different orders would wait for each other for ever."""
    tournament = edition(crasher, rival)
    for _ in range(AFTER):
        crash(tournament, crasher, rival)
    duel = duel_new(
        challenge=factories.challenge(rival), number=1, player_1=rival, player_2=crasher, seed=1, match_count=2
    )
    duels_enqueue(duels=[duel])
    with CaptureQueriesContext(connection) as queries:
        if is_crash:
            quarantine_where_due(tournament=tournament)
        else:
            agent_disable(agent=crasher.agent, reason="Cheats.")

    written = [row["sql"] for row in queries if row["sql"].startswith("UPDATE")]
    (called_off,) = [place for place, sql in enumerate(written) if f'"core_duel"."id" = {duel.pk}' in sql]
    left = [place for place, sql in enumerate(written) if sql.startswith('UPDATE "core_participant"')]
    assert left
    assert called_off < min(left)


def test_the_streak_goes_on_from_one_edition_to_the_next(crasher: Submission, rival: Submission) -> None:
    first = factories.tournament([crasher, rival], edition=1)
    for _ in range(AFTER - 1):
        crash(first, crasher, rival)
    second = factories.tournament([crasher, rival], edition=2, state=TournamentState.RUNNING)
    assert quarantine_where_due(tournament=second) == []
    crash(second, crasher, rival)
    assert quarantine_where_due(tournament=second) == [crasher.agent]


def test_crashes_count_once_everybody_may_see_them_rated_or_not(crasher: Submission, rival: Submission) -> None:
    held_back = edition(crasher, rival)
    Tournament.objects.update(results=Audience.HIDDEN, is_rated=False)
    for _ in range(AFTER):
        crash(held_back, crasher, rival)
    assert quarantine_where_due(tournament=held_back) == []
    assert streak(crasher) == 0
    Tournament.objects.update(results=Audience.PUBLIC)
    assert quarantine_where_due(tournament=held_back) == [crasher.agent]


def test_no_agent_is_quarantined_when_the_organisers_do_not_want_it(
    crasher: Submission, rival: Submission, settings: Settings
) -> None:
    settings.QUARANTINE_AFTER = 0
    tournament = edition(crasher, rival)
    for _ in range(9):
        crash(tournament, crasher, rival)
    assert quarantine_where_due(tournament=tournament) == []


def test_an_agent_that_has_a_newer_good_version_only_loses_the_old_one_in_this_edition(
    crasher: Submission, rival: Submission
) -> None:
    tournament = edition(crasher, rival)
    for _ in range(AFTER):
        crash(tournament, crasher, rival)
    newer = factories.ready(crasher.agent)

    assert quarantine_where_due(tournament=tournament) == []

    assert tournament.participants.exclude(withdrawn_at=None).get().submission == crasher
    assert newer in Submission.objects.valid()


def test_anonymous_clients_get_no_letter(environment: Environment, rival: Submission) -> None:
    row = factories.ready(factories.agent(anonymous_ensure(), environment))
    caught(edition(row, rival), row, rival)
    assert not Notice.objects.exists()


# --- The way out -------------------------------------------------------------------------------------------


def validate(row: Submission) -> None:
    factories.build(row)
    validation_succeed(
        validation=factories.validation(row, JobState.RUNNING), artifacts=DuelArtifacts(2, "", "", ""), log=""
    )


def test_a_new_version_that_validates_brings_the_agent_back(crasher: Submission, rival: Submission) -> None:
    agent = caught(edition(crasher, rival), crasher, rival)
    fixed = factories.submission(agent)
    assert Agent.objects.get(pk=agent.pk).is_disabled

    validate(fixed)

    agent.refresh_from_db()
    assert (agent.is_disabled, agent.is_quarantined, agent.disabled_reason) == (False, False, "")
    assert Submission.objects.valid().filter(agent=agent).latest("number") == fixed


def test_a_new_version_that_is_being_tested_against_the_one_that_crashed_plays_at_once(
    crasher: Submission, rival: Submission
) -> None:
    Environment.objects.update(has_gate=True)
    tournament = edition(crasher, rival)
    for _ in range(AFTER):
        crash(tournament, crasher, rival)
    row = factories.submission(Agent.objects.select_related("environment").get(pk=crasher.agent_id))
    validate(row)
    promotion = Promotion.objects.get()
    assert not Submission.objects.active().filter(pk=row.pk).exists()

    assert quarantine_where_due(tournament=tournament) == []

    promotion.refresh_from_db()
    assert promotion.state == PromotionState.ACTIVATED
    assert Submission.objects.active().filter(pk=row.pk).exists()


def test_the_version_that_crashed_validated_again_does_not(crasher: Submission, rival: Submission) -> None:
    agent = caught(edition(crasher, rival), crasher, rival)
    validate(crasher)
    agent.refresh_from_db()
    assert agent.is_quarantined


def test_no_version_brings_back_what_organisers_have_disabled(crasher: Submission) -> None:
    Agent.objects.filter(pk=crasher.agent_id).update(is_disabled=True)
    validate(factories.submission(crasher.agent))
    assert Agent.objects.get(pk=crasher.agent_id).is_disabled


def test_an_organiser_lets_it_play_again_and_the_next_crash_is_its_first(
    crasher: Submission, rival: Submission
) -> None:
    agent = caught(edition(crasher, rival), crasher, rival)

    agent_enable(agent=agent)

    assert not Agent.objects.get(pk=agent.pk).is_quarantined
    Tournament.objects.update(state=TournamentState.FINISHED, ended_at=factories.NOON)
    last = factories.tournament([crasher, rival], edition=2, state=TournamentState.RUNNING)
    crash(last, crasher, rival)
    assert quarantine_where_due(tournament=last) == []
    assert streak(crasher) == 1


def test_its_page_says_what_happened_and_shows_its_owner_alone_the_way_out(
    crasher: Submission, rival: Submission
) -> None:
    agent = caught(edition(crasher, rival), crasher, rival)
    page = f"/environments/{agent.environment.slug}/agents/{agent.name}/"
    owner = Client()
    owner.force_login(agent.owner)
    mine, others = owner.get(page).content.decode(), Client().get(page).content.decode()
    for text in (mine, others):
        assert "This agent has been paused since" in text
        assert "Version 1 forfeited every match of 3 duels in a row." in text
    assert "upload a new version</a>: the agent plays again as soon as" in mine
    assert 'id="upload"' in mine
    assert 'id="upload"' not in others
    assert 'badge-bad">Paused' in owner.get(f"/environments/{agent.environment.slug}/").content.decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("repetition", range(3))
def test_workers_that_look_at_once_catch_it_once(crasher: Submission, rival: Submission, repetition: int) -> None:
    tournament = edition(crasher, rival)
    for _ in range(AFTER):
        crash(tournament, crasher, rival)

    found = at_once(*[lambda: quarantine_where_due(tournament=Tournament.objects.get(pk=tournament.pk))] * 4)

    assert sorted(map(len, found)) == [0, 0, 0, 1]
    assert Notice.objects.filter(kind="QUARANTINE").count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_version_that_validates_while_its_agent_is_caught_leaves_it_in_play(
    crasher: Submission, rival: Submission
) -> None:
    tournament = edition(crasher, rival)
    for _ in range(AFTER):
        crash(tournament, crasher, rival)
    fixed = factories.submission(crasher.agent)
    factories.build(fixed)
    validation = factories.validation(fixed, JobState.RUNNING)

    def finish() -> None:
        job = Validation.objects.get(pk=validation.pk)
        validation_succeed(validation=job, artifacts=DuelArtifacts(2, "", "", ""), log="")

    def look() -> None:
        quarantine_where_due(tournament=tournament)

    at_once(finish, look)

    assert fixed in Submission.objects.valid()
