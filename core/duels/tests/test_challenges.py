"""Challenges: who may ask whom, within which quota, what calls them off, and how they end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.ranking.scores import share_interval
from arena_kit.ranking.sequential import SequentialState
from core.duels.challenge_selectors import challenge_get, challenge_rows
from core.duels.challenges import challenge_create, challenge_follow, challenges_follow
from core.duels.stopping import version_test
from core.duels.version_tests import version_test_create
from core.errors import QuotaExceeded, Refused
from core.jobs.lines import line
from core.listing import row_count
from core.models import Agent, Challenge, Duel, Environment, JobFault, JobState, LedgerEntry, Notice, Submission, User
from core.moderation.services import agent_disable, user_ban
from core.submissions.existing import submission_delete
from core.tests import factories
from core.tests.concurrency import at_once
from core.tests.factories import Cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("midday")]


@pytest.fixture
def cast() -> Cast:
    return factories.cast()


@pytest.fixture
def game() -> Environment:
    return factories.environment()


def player(owner: User, game: Environment, name: str, rank: int | None = None) -> Submission:
    """An agent that may play; with a rank it is rated."""
    row = factories.ready(factories.agent(owner, game, name))
    if rank is not None:
        factories.rating(row, 1600 - rank, rank=rank, worst_rank=99)
    return row


def test_the_active_version_plays_the_top_ten_of_others_unrated_and_in_the_line_of_all(
    cast: Cast, game: Environment
) -> None:
    mine = player(cast.alice, game, "anna", 1)
    mine_too = player(cast.alice, game, "alma", 2)
    rivals = [player(cast.bob, game, f"rival-{rank}", rank) for rank in range(3, 15)]
    newer = factories.ready(rivals[0].agent)
    Agent.objects.filter(pk=rivals[1].agent_id).update(is_resting=True)
    waiting = factories.tournament([mine, mine_too]).duels.all()
    factories.moved(waiting, JobState.QUEUED)

    made = challenge_create(user=cast.alice, agent=mine.agent, opponent=None)

    duels = list(made.duels.order_by("number"))
    # The active versions of the best agents, without resting agents and one's own.
    assert [duel.player_2 for duel in duels] == [newer, *rivals[2:11]]
    assert {duel.player_1 for duel in duels} == {mine}
    # First come, first served.
    assert list(line(Duel)) == [*waiting.order_by("pk"), *duels]


def bar(agent: Agent, *, way: str) -> None:
    match way:
        case "disabled":
            agent_disable(agent=agent, reason="It burns.")
        case "banned":
            user_ban(user=agent.owner, reason="Spam.")
        case "late":
            # By an organiser whose transaction could not see the new challenge yet.
            Agent.objects.filter(pk=agent.pk).update(is_disabled=True)
    agent.refresh_from_db()


REFUSALS = {
    "another owner's": "is not yours",
    "own": "also yours",
    "elsewhere": "another environment",
    "no version": "No version of fresh may play",
    "rival rests": "is hidden and cannot be challenged",
    "own rests": "is hidden: show it",
    "own is paused": "is paused or disabled",
    "disabled": "may not take part at the moment",
    "banned": "may not take part at the moment",
    "unrated": "no rating yet",
    "one seat": "one seat",
    "closed": "is closed",
    "no top ten": "no top ten",
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_be_is_refused_with_a_sentence(cast: Cast, game: Environment, case: str) -> None:
    mine, rival = player(cast.alice, game, "anna", 1).agent, player(cast.bob, game, "berta", 2).agent
    opponent: Agent | None = rival
    match case:
        case "another owner's":
            mine = player(cast.charlie, game, "carla").agent
        case "own":
            opponent = player(cast.alice, game, "alma", 3).agent
        case "elsewhere":
            opponent = player(cast.bob, factories.environment("connect-four"), "far", 1).agent
        case "no version":
            mine = factories.agent(cast.alice, game, "fresh")
        case "rival rests" | "own rests":
            (rival if case == "rival rests" else mine).is_resting = True
        case "own is paused":
            agent_disable(agent=mine, reason="It burns.")
        case "disabled" | "banned":
            bar(rival, way=case)
        case "unrated":
            opponent = player(cast.bob, game, "new").agent
        case "one seat":
            mine = factories.ready(factories.agent(cast.alice, factories.task(), "alone")).agent
        case "closed":
            game.is_active = mine.environment.is_active = False
        case "no top ten":
            opponent = None
            agent_disable(agent=rival, reason="It burns.")
    with pytest.raises(Refused, match=REFUSALS[case]):
        challenge_create(user=cast.alice, agent=mine, opponent=opponent)
    assert not Challenge.objects.exists()


def test_only_so_many_duels_a_day_may_be_asked_for(cast: Cast, game: Environment, settings: Settings) -> None:
    settings.QUOTAS = settings.QUOTAS | {"challenges_per_day": 3}
    mine = player(cast.alice, game, "anna").agent
    rivals = [player(cast.bob, game, f"rival-{rank}", rank) for rank in (1, 2)]
    first = challenge_create(user=cast.alice, agent=mine, opponent=None)
    with pytest.raises(QuotaExceeded, match="needs 2 duels, but 1 of your 3 a day in Tic-tac-toe is left") as refusal:
        challenge_create(user=cast.alice, agent=mine, opponent=None)
    assert refusal.value.code == "quota_challenges_per_day"
    challenge_create(user=cast.alice, agent=mine, opponent=rivals[0].agent)
    with pytest.raises(QuotaExceeded, match="but none of your 3 a day"):
        challenge_create(user=cast.alice, agent=mine, opponent=rivals[0].agent)

    # What the arena has failed on is not charged, nor what was asked for yesterday.
    factories.moved(first.duels.filter(number=1), JobState.FAILED, fault=JobFault.PLATFORM)
    challenge_create(user=cast.alice, agent=mine, opponent=rivals[0].agent)
    Challenge.objects.update(created_at=timezone.now() - timedelta(days=1))
    challenge_create(user=cast.alice, agent=mine, opponent=None)


@pytest.mark.django_db(transaction=True)
def test_who_asks_often_at_once_gets_no_more_than_the_quota(settings: Settings) -> None:
    settings.QUOTAS = settings.QUOTAS | {"challenges_per_day": 2}
    cast, game = factories.cast(), factories.environment()
    mine, rival = player(cast.alice, game, "anna").agent, player(cast.bob, game, "berta", 1).agent

    def ask() -> int:
        try:
            return challenge_create(user=cast.alice, agent=mine, opponent=rival).pk
        except QuotaExceeded:
            return 0

    assert sorted(map(bool, at_once(*[ask] * 4))) == [False, False, True, True]
    assert Duel.objects.count() == 2


@pytest.mark.parametrize("way", ["disabled", "banned", "late"])
def test_duels_are_called_off_when_one_of_the_two_is_barred(cast: Cast, game: Environment, way: str) -> None:
    mine, other = player(cast.alice, game, "anna").agent, player(cast.charlie, game, "carla", 2)
    rival = player(cast.bob, game, "berta", 1).agent
    made = challenge_create(user=cast.alice, agent=mine, opponent=None)
    bar(rival, way=way)
    if way == "late":
        challenges_follow()
    states = dict(made.duels.values_list("player_2__agent__name", "state"))
    assert states == {"berta": "CANCELLED", "carla": "QUEUED"}
    assert challenges_follow() == 0

    factories.moved(made.duels.filter(player_2=other), JobState.SUCCEEDED)
    assert challenges_follow() == 1


def test_its_owner_is_told_once_when_all_of_it_is_over_and_no_rating_hears_of_it(cast: Cast, game: Environment) -> None:
    mine = player(cast.alice, game, "anna")
    rivals = [player(cast.bob, game, "berta"), player(cast.charlie, game, "carla")]
    made = factories.challenged(mine, *rivals)
    factories.moved(made.duels.filter(number=2), JobState.RUNNING)
    assert not challenge_follow(made.pk)
    factories.moved(made.duels.filter(number=2), JobState.FAILED, fault=JobFault.PLATFORM)

    assert [challenge_follow(made.pk), challenge_follow(made.pk), challenges_follow()] == [True, False, 0]

    (notice,) = Notice.objects.filter(kind="CHALLENGE_ENDED")
    assert notice.title == "The challenge of anna v1 is over"
    assert "berta v1: won 8, drew 1, lost 1 of 10 matches: 85% (54% to 96%)" in notice.text
    assert "carla v1: could not be played because of a fault of the arena." in notice.text
    assert notice.address == f"/challenges/{made.pk}/"
    report = challenge_get(made.pk)
    assert (report.is_over, report.total.count, report.total.won) == (True, 10, 8)
    assert not LedgerEntry.objects.exists()
    # A version that is deleted takes no report with it.
    submission_delete(submission=rivals[0])
    assert challenge_get(made.pk).total.count == 10


def test_the_figures_against_a_single_rival_are_told_once(cast: Cast, game: Environment) -> None:
    made = factories.challenged(player(cast.alice, game, "anna"), player(cast.bob, game, "berta"))
    assert challenge_follow(made.pk)
    notice = Notice.objects.get(kind="CHALLENGE_ENDED")
    assert notice.title == "The challenge of anna v1 against berta v1 is over"
    assert notice.text.count("of 10 matches") == 1
    assert notice.text.startswith("anna v1 in ")
    assert "berta" not in notice.text


@pytest.mark.slow
@pytest.mark.parametrize(("won", "of"), [(0, 10), (7, 10), (10, 10), (520, 1000)])
def test_the_interval_of_a_share_is_that_of_another_implementation(won: int, of: int) -> None:
    # Not imported by every process of a run: it takes more than a second.
    from scipy.stats import binomtest

    found = share_interval(float(won), of)
    theirs = binomtest(won, of).proportion_ci(method="wilson")
    assert found is not None
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert share_interval(0.0, 0) is None


def test_a_version_is_tested_against_another_until_the_test_knows(cast: Cast, game: Environment) -> None:
    old = player(cast.alice, game, "anna", 1)
    new = factories.ready(old.agent)
    Submission.objects.filter(pk=new.pk).update(is_benched=True)
    made = version_test_create(user=cast.alice, submission=new, against=old)
    duel = made.duels.get()
    test = version_test(game)
    assert (duel.player_1, duel.player_2, duel.test, duel.match_count) == (new, old, test.as_json, 2 * test.cap)
    assert duel.reason == "alice asked whether version 2 is better than 1."
    sentence = "The test accepts after 20 pairs that version 2 is better."
    factories.moved(made.duels.all(), JobState.SUCCEEDED, test_result={"sentence": sentence})
    assert challenge_follow(made.pk)
    assert sentence in Notice.objects.get().text
    for state, verdict in (
        (SequentialState.ACCEPTED_H1, f"{new} is stronger than {old}."),
        (SequentialState.ACCEPTED_H0, f"{new} is not shown to be stronger than {old}."),
        (SequentialState.INCONCLUSIVE, f"The matches do not decide between {new} and {old}."),
        (SequentialState.GOING_ON, ""),
    ):
        made.duels.update(test_result={"state": state.value, "sentence": sentence})
        assert challenge_get(made.pk).lines[0].test_verdict == verdict
    assert not LedgerEntry.objects.exists()
    assert Submission.objects.get(pk=new.pk).is_benched


def test_only_an_owner_tests_two_versions_that_can_play(cast: Cast, game: Environment) -> None:
    old, other = player(cast.alice, game, "anna", 1), player(cast.alice, game, "alma", 2)
    new, unbuilt = factories.ready(old.agent), factories.submission(old.agent)
    for user, one, against, said in (
        (cast.bob, new, old, "Only the owner"),
        (cast.alice, new, other, "only against each other"),
        (cast.alice, new, new, "differ"),
        (cast.alice, unbuilt, old, "Version 3 cannot play"),
    ):
        with pytest.raises(Refused, match=said):
            version_test_create(user=user, submission=one, against=against)
    game.quota_challenges_per_day = 1
    game.save()
    version_test_create(user=cast.alice, submission=new, against=old)
    with pytest.raises(QuotaExceeded, match="This test needs one duel"):
        version_test_create(user=cast.alice, submission=new, against=old)
    agent_disable(agent=old.agent, reason="It burns.")
    assert not Duel.objects.filter(state=JobState.QUEUED).exists()


def test_the_keys_and_the_number_of_challenges_are_read_without_their_duels() -> None:
    with CaptureQueriesContext(connection) as asked:
        assert row_count(challenge_rows()) == 0
        assert list(challenge_rows().values_list("pk", flat=True)) == []
    assert [query["sql"] for query in asked if "core_duel" in query["sql"]] == []
