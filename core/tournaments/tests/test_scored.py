"""Tournaments of agents that play alone: each is evaluated once on seeds of the tournament, and its score ranks it."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from arena_kit.ranking.scores import summarise_scores
from core.editions.advance import environment_advance
from core.editions.disqualifying import participant_disqualify, participant_readmit
from core.editions.happenings import happenings
from core.editions.planned import planned_begin
from core.editions.previews import disqualification_preview
from core.editions.progress import tournament_begin
from core.editions.tests.planned import begun, planned
from core.editions.tests.samples import LATER, players
from core.editions.tests.scored import (
    break_down,
    claimed,
    crash,
    fresh,
    score,
    score_all,
    scored,
    step,
    table,
    waiting,
)
from core.environments.services import environment_close, environment_open
from core.errors import Refused
from core.evaluations.seeds import final_phase_start, in_final_phase, seed_list_reveal
from core.evaluations.selectors import ranking_list, revealed_lists
from core.evaluations.services import evaluation_create
from core.evaluations.standing import standing
from core.evaluations.tests.evaluated import succeed
from core.jobs.control import job_cancel
from core.jobs.lifecycle import job_claim
from core.jobs.states import StaleJob
from core.models import (
    Audience,
    CancelCode,
    Delivery,
    Environment,
    Evaluation,
    EventKind,
    JobState,
    Notice,
    NoticeKind,
    PlanRow,
    Recording,
    SeedList,
    SeedPurpose,
    Submission,
    Tournament,
    TournamentState,
)
from core.moderation.services import agent_disable
from core.moderation.withdrawals import participant_withdraw
from core.people.quota_usage import in_progress
from core.submissions.existing import agent_delete
from core.tests import factories
from core.tournaments.planning import results_release, tournament_call_off, tournament_plan
from core.tournaments.preview import plan_preview
from core.tournaments.registrations import registration_create
from core.tournaments.selectors import tournament_progress
from core.tournaments.services import tournament_cancel, tournament_go_on, tournament_pause
from core.tournaments.voiding import evaluation_void, round_void

pytestmark = pytest.mark.django_db
AGAIN = "The machine was too hot."


@pytest.fixture
def task() -> Environment:
    return factories.task(episodes=4)


def counted(cup: Tournament) -> list[tuple[int, str]]:
    """The evaluations of a tournament that are not void: submission and state."""
    rows = Evaluation.every.filter(tournament=cup, void_because="").order_by("submission", "pk")
    return list(rows.values_list("submission", "state"))


# --- From the plan to the table ---------------------------------------------------------------------------


def test_all_play_the_same_hidden_seeds_and_their_means_rank_them(task: Environment) -> None:
    board = ranking_list(task)
    cup, (one, two, three) = scored(task)
    rows = list(Evaluation.every.filter(tournament=cup))
    assert {row.submission_id for row in rows} == {one.pk, two.pk, three.pk}
    assert {(row.state, row.episode_count, row.environment_version) for row in rows} == {
        (JobState.QUEUED, 4, task.spec_id)
    }
    seeds = SeedList.objects.get(tournament=cup)
    assert {row.seed_list_id for row in rows} == {seeds.pk}
    assert (seeds.purpose, seeds.is_public, len(seeds.seeds)) == (SeedPurpose.FINAL, False, 4)
    assert board is not None
    assert set(seeds.seeds).isdisjoint(board.seeds)

    cup = score_all(cup, [one, two, three], [10.0, 30.0, 30.0])

    assert cup.state == TournamentState.FINISHED
    assert table(cup) == {one.pk: (3, 10.0), two.pk: (1, 30.0), three.pk: (1, 30.0)}
    found = summarise_scores([29.0, 31.0] * 2).mean
    row = cup.participants.get(submission=two)
    assert (row.score_low, row.score_high) == (found.low, found.high)
    assert counted(cup) == [(row.pk, JobState.SUCCEEDED) for row in (one, two, three)]
    told = Notice.objects.filter(kind=NoticeKind.TOURNAMENT_ENDED, user=one.agent.owner)
    assert f"{one} came 3rd of 3." in told.get().text


def test_the_settings_say_how_many_episodes(task: Environment) -> None:
    cup, (one, *_) = scored(task, episodes=6)
    assert waiting(cup, one).episode_count == 6
    assert len(SeedList.objects.get(tournament=cup).seeds) == 6
    assert ranking_list(task) != SeedList.objects.get(tournament=cup)


def test_the_board_of_the_environment_never_changes(task: Environment) -> None:
    rows = players(task, 2)
    for row, scores in zip(rows, ([10.0] * 4, [20.0] * 4), strict=True):
        factories.evaluation(row, scores=scores)
    before = list(standing(task).order_by("pk").values("pk", "score", "is_current"))
    seeds = list(SeedList.objects.order_by("pk").values())
    cup = begun(rows, "score")
    # What runs for a tournament is not the work on a version that quotas count.
    assert not in_progress(Submission.objects.all()).exists()
    cup = score_all(cup, rows, [500.0, 400.0])

    assert cup.state == TournamentState.FINISHED
    assert list(standing(task).order_by("pk").values("pk", "score", "is_current")) == before
    assert list(SeedList.objects.filter(tournament=None).order_by("pk").values()) == seeds
    assert not in_final_phase(task)
    assert not revealed_lists(task)
    assert not Recording.objects.exists()
    assert not Notice.objects.filter(kind=NoticeKind.EVALUATED).exists()
    # A tournament is no final phase of its environment, which still has its own, and again another tournament.
    final_phase_start(environment=task, by=None)
    assert in_final_phase(task)
    assert score_all(begun(rows, "score"), rows, [1.0, 2.0]).state == TournamentState.FINISHED


def test_a_tournament_keeps_the_rules_that_it_began_with(task: Environment) -> None:
    cup, rows = scored(task)
    score(cup, rows[0], 5.0)
    Environment.objects.filter(pk=task.pk).update(version=9)
    evaluation_void(participant=cup.participants.get(submission=rows[0]), reason=AGAIN)
    step(cup)
    assert waiting(cup, rows[0]).environment_version == task.spec_id


def test_its_winners_are_among_the_happenings_of_the_environment(task: Environment) -> None:
    cup, rows = scored(task)
    Tournament.objects.filter(pk=cup.pk).update(results=Audience.HIDDEN)
    cup = score_all(cup, rows, [1.0, 2.0, 3.0])
    assert not [one for one in happenings(task) if "came" in one.title]
    results_release(tournament=cup)
    assert [one.title for one in happenings(task) if "came" in one.title] == [f"{rows[2]} came 1st of 3 in {cup}"]


# --- Faults -----------------------------------------------------------------------------------------------


def test_an_agent_that_fails_has_no_score_and_stands_below(task: Environment) -> None:
    cup, (one, two, three) = scored(task)
    crash(cup, two)
    score(cup, one, -50.0)
    assert step(cup).state == TournamentState.RUNNING
    score(cup, three, 7.0)
    cup = step(cup)
    assert cup.state == TournamentState.FINISHED
    assert table(cup) == {three.pk: (1, 7.0), one.pk: (2, -50.0), two.pk: (3, None)}


def test_where_all_fail_owners_are_told_of_no_rank(task: Environment) -> None:
    cup, rows = scored(task, 2)
    for row in rows:
        crash(cup, row)
    assert step(cup).state == TournamentState.FINISHED
    told = Notice.objects.get(kind=NoticeKind.TOURNAMENT_ENDED, user=rows[0].agent.owner)
    assert told.title == f"{rows[0].agent} has no score in {cup}"
    assert told.text == f"{rows[0]} has no score.\n{rows[1]} has no score."
    assert not [one for one in happenings(task, rows[0].agent) if one.key.startswith("place")]


def test_an_agent_with_a_score_in_a_tournament_alone_is_not_deleted(task: Environment) -> None:
    cup, rows = scored(task)
    score_all(cup, rows, [1.0, 2.0, 3.0])
    with pytest.raises(Refused, match="has a score in a tournament"):
        agent_delete(agent=rows[2].agent)


def test_what_the_arena_fails_is_made_again_twice(task: Environment) -> None:
    cup, rows = scored(task)
    score(cup, rows[1], 1.0)
    score(cup, rows[2], 2.0)
    for count in (1, 2, 3):
        assert tournament_progress(fresh(cup)).total == 3
        break_down(cup, rows[0])
        cup = step(cup)
        assert Evaluation.every.filter(tournament=cup, submission=rows[0]).count() == min(count + 1, 3)
    assert cup.state == TournamentState.FINISHED
    assert table(cup)[rows[0].pk] == (3, None)
    last = PlanRow.objects.get(plan__tournament=cup, submission=rows[0])
    assert (last.values, last.notes) == ([], ["No score. The arena could not evaluate it."])

    # An organiser has it evaluated once more, and it wins.
    evaluation_void(participant=cup.participants.get(submission=rows[0]), reason=AGAIN)
    step(cup)
    score(cup, rows[0], 9.0)
    assert table(step(cup))[rows[0].pk] == (1, 9.0)


# --- Evaluate again ---------------------------------------------------------------------------------------


def test_a_participant_is_evaluated_again_while_it_runs(task: Environment) -> None:
    cup, (one, two, three) = scored(task)
    with pytest.raises(Refused, match="has not been evaluated yet"):
        evaluation_void(participant=cup.participants.get(submission=one), reason=AGAIN)
    first = score(cup, one, 90.0)
    step(cup)
    evaluation_void(participant=cup.participants.get(submission=one), reason=AGAIN)
    cup = step(cup)
    assert table(cup)[one.pk][1] is None
    again = waiting(cup, one)
    assert (again.pk != first.pk, again.seed_list_id) == (True, first.seed_list_id)
    cup = score_all(cup, [one, two, three], [1.0, 2.0, 3.0])
    assert cup.state == TournamentState.FINISHED
    assert table(cup) == {three.pk: (1, 3.0), two.pk: (2, 2.0), one.pk: (3, 1.0)}
    first.refresh_from_db()
    assert (first.void_because, first.score) == (AGAIN, 90.0)


def test_after_the_end_the_tournament_goes_on_and_is_decided_anew(task: Environment) -> None:
    cup, rows = scored(task)
    cup = score_all(cup, rows, [1.0, 2.0, 3.0])
    with pytest.raises(Refused, match="no rounds"):
        round_void(tournament=cup, number=1, reason=AGAIN, user=None)
    evaluation_void(participant=cup.participants.get(submission=rows[2]), reason=AGAIN)
    cup = fresh(cup)
    assert (cup.state, cup.ended_at) == (TournamentState.RUNNING, None)
    step(cup)
    score(cup, rows[2], 1.5)
    cup = step(cup)
    assert cup.state == TournamentState.FINISHED
    assert table(cup) == {rows[1].pk: (1, 2.0), rows[2].pk: (2, 1.5), rows[0].pk: (3, 1.0)}


def test_an_agent_that_may_not_play_any_more_keeps_its_score(task: Environment) -> None:
    cup, rows = scored(task)
    cup = score_all(cup, rows, [1.0, 2.0, 3.0])
    agent_disable(agent=rows[2].agent, reason="Cheats.")
    with pytest.raises(Refused, match="may no longer play"):
        evaluation_void(participant=cup.participants.get(submission=rows[2]), reason=AGAIN)
    # It keeps its place when another one is evaluated again.
    evaluation_void(participant=cup.participants.get(submission=rows[0]), reason=AGAIN)
    step(cup)
    score(cup, rows[0], 2.5)
    cup = step(cup)
    assert cup.state == TournamentState.FINISHED
    assert table(cup) == {rows[2].pk: (1, 3.0), rows[0].pk: (2, 2.5), rows[1].pk: (3, 2.0)}


# --- Leaving ----------------------------------------------------------------------------------------------


def test_a_participant_who_withdraws_is_evaluated_no_more_and_stands_last(task: Environment) -> None:
    cup, (one, two, three) = scored(task)
    score(cup, one, 9.0)
    running = claimed(cup, two)
    participant_withdraw(participant=cup.participants.get(submission=one), user=one.agent.owner)
    participant_withdraw(participant=cup.participants.get(submission=two), user=two.agent.owner)
    # What its worker hands in is refused.
    with pytest.raises(StaleJob):
        succeed(running)
    cup = step(cup)
    assert not Evaluation.every.filter(tournament=cup, submission=two, state=JobState.QUEUED).exists()
    with pytest.raises(Refused, match="has left"):
        evaluation_void(participant=cup.participants.get(submission=one), reason=AGAIN)
    cup = score_all(cup, [three], [1.0])
    assert cup.state == TournamentState.FINISHED
    assert {row.submission_id: row.rank for row in cup.participants.all()} == {three.pk: 1, one.pk: 2, two.pk: 2}


def test_an_agent_that_is_disabled_leaves(task: Environment) -> None:
    cup, (one, two, three) = scored(task)
    score(cup, one, 9.0)
    agent_disable(agent=one.agent, reason="Cheats.")
    agent_disable(agent=two.agent, reason="Cheats.")
    cup = score_all(cup, [three], [1.0])
    assert cup.state == TournamentState.FINISHED
    assert cup.participants.get(rank=1).submission == three


def test_a_participant_is_disqualified_and_comes_back(task: Environment) -> None:
    cup, rows = scored(task)
    cup = score_all(cup, rows, [1.0, 2.0, 3.0])
    before, winner = table(cup), cup.participants.get(rank=1)
    foreseen = {one.participant.submission_id: one.after for one in disqualification_preview(winner)}
    assert foreseen == {rows[2].pk: None, rows[1].pk: 1, rows[0].pk: 2}

    participant_disqualify(participant=winner, reason="It knew the seeds.")
    environment_advance(task, now=LATER)
    assert {key: rank for key, (rank, _) in table(cup).items()} == {rows[1].pk: 1, rows[0].pk: 2, rows[2].pk: 3}
    assert fresh(cup).state == TournamentState.FINISHED
    assert not Evaluation.every.filter(state=JobState.QUEUED).exists()

    participant_readmit(participant=winner)
    environment_advance(task, now=LATER)
    assert table(cup) == before


def test_a_participant_is_disqualified_while_it_runs(task: Environment) -> None:
    cup, rows = scored(task)
    score(cup, rows[0], 99.0)
    participant_disqualify(participant=cup.participants.get(submission=rows[0]), reason="It knew the seeds.")
    cup = score_all(step(cup), rows[1:], [1.0, 2.0])
    assert cup.state == TournamentState.FINISHED
    assert cup.participants.get(submission=rows[0]).rank == 3


# --- Pausing, cancelling ----------------------------------------------------------------------------------


def test_while_it_is_paused_no_evaluation_begins(task: Environment) -> None:
    cup, rows = scored(task)
    score(cup, rows[0], 1.0)
    tournament_pause(tournament=cup)
    for row in rows[1:]:
        assert job_claim(kind=Evaluation, job_id=waiting(cup, row).pk, worker="w") is None
    # A participant that must be evaluated again waits, too.
    evaluation_void(participant=cup.participants.get(submission=rows[0]), reason=AGAIN)
    cup = step(cup)
    assert not Evaluation.every.filter(tournament=cup, submission=rows[0], state=JobState.QUEUED).exists()
    assert "is paused" in cup.shortfall
    # Evaluations for the board go on.
    board = evaluation_create(submission=rows[0])
    assert job_claim(kind=Evaluation, job_id=board.pk, worker="w") is not None

    tournament_go_on(tournament=fresh(cup))
    cup = score_all(step(cup), rows, [1.0, 2.0, 3.0])
    assert (cup.state, cup.shortfall) == (TournamentState.FINISHED, "")


def test_in_a_closed_environment_no_participant_is_evaluated_anew(task: Environment) -> None:
    cup, rows = scored(task)
    score(cup, rows[0], 1.0)
    evaluation_void(participant=cup.participants.get(submission=rows[0]), reason=AGAIN)
    environment_close(environment=task)
    cup = step(cup)
    assert not Evaluation.every.filter(tournament=cup, submission=rows[0], state=JobState.QUEUED).exists()
    # Those that wait go on, as on the board.
    score(cup, rows[1], 2.0)
    environment_open(environment=Environment.objects.get(pk=task.pk))
    cup = step(cup)
    score(cup, rows[0], 3.0)
    score(cup, rows[2], 4.0)
    assert step(cup).state == TournamentState.FINISHED


def test_a_cancelled_tournament_keeps_its_scores_and_plays_no_more(task: Environment) -> None:
    cup, rows = scored(task)
    score(cup, rows[0], 1.0)
    tournament_cancel(tournament=cup, reason="The hall is closed.")
    states = Evaluation.every.filter(tournament=cup).order_by("pk").values_list("state", "cancel_code")
    over = (JobState.CANCELLED, CancelCode.TOURNAMENT_OVER)
    assert list(states) == [(JobState.SUCCEEDED, ""), over, over]
    environment_advance(task, now=LATER)
    assert fresh(cup).state == TournamentState.CANCELLED
    assert table(cup)[rows[0].pk] == (1, 1.0)
    assert not Evaluation.every.filter(state=JobState.QUEUED).exists()
    assert SeedList.objects.get(tournament=cup).is_public


def test_an_evaluation_that_an_organiser_cancels_is_made_again(task: Environment) -> None:
    cup, rows = scored(task)
    job_cancel(job=waiting(cup, rows[0]), code=CancelCode.BY_ORGANISER, reason="It hangs.")
    cup = score_all(step(cup), rows, [1.0, 2.0, 3.0])
    assert cup.state == TournamentState.FINISHED


# --- Baselines, audience, entry ---------------------------------------------------------------------------


def test_baselines_have_a_score_and_take_no_rank(task: Environment) -> None:
    rows = players(task, 4)
    factories.webhook(kinds=[EventKind.TOURNAMENT_ENDED])
    cup = planned(rows, "score")
    cup.baselines.set([rows[-1].agent])
    cup = tournament_begin(cup, now=LATER)
    baseline = cup.participants.get(is_baseline=True)
    cup = score_all(cup, rows, [1.0, 2.0, 3.0, 9.0])
    baseline.refresh_from_db()
    assert cup.state == TournamentState.FINISHED
    assert (baseline.submission, baseline.score, baseline.shown_rank) == (rows[3], 9.0, None)
    assert cup.participants.get(rank=1).submission == rows[2]
    told = json.loads(Delivery.objects.get(kind=EventKind.TOURNAMENT_ENDED).body)
    assert [(row["rank"], row["score"]) for row in told["data"]["table"]] == [(1, 3.0), (2, 2.0), (3, 1.0)]


@pytest.mark.parametrize("results", [Audience.HIDDEN, Audience.PARTICIPANTS])
def test_its_seeds_become_public_with_its_results_and_not_before_its_end(task: Environment, results: str) -> None:
    cup, rows = scored(task)
    seeds = SeedList.objects.get(tournament=cup)
    Tournament.objects.filter(pk=cup.pk).update(results=results)
    with pytest.raises(Refused, match="with the results of their tournament"):
        seed_list_reveal(seed_list=seeds)
    cup = score_all(cup, rows, [1.0, 2.0, 3.0])
    assert cup.state == TournamentState.FINISHED
    assert not SeedList.objects.get(pk=seeds.pk).is_public
    results_release(tournament=cup)
    assert SeedList.objects.get(pk=seeds.pk).is_public


def test_results_that_are_released_early_reveal_no_seeds_before_the_end(task: Environment) -> None:
    cup, rows = scored(task)
    Tournament.objects.filter(pk=cup.pk).update(results=Audience.HIDDEN)
    results_release(tournament=fresh(cup))
    assert not SeedList.objects.get(tournament=cup).is_public
    score_all(cup, rows, [1.0, 2.0, 3.0])
    assert SeedList.objects.get(tournament=cup).is_public


def test_it_waits_for_versions_from_before_the_freeze(task: Environment) -> None:
    now = LATER
    minute = timedelta(minutes=1)
    cup = factories.planned(
        task, format="score", registration_closes_at=now + 60 * minute, freezes_at=now + 50 * minute,
        starts_at=now + 60 * minute, registration_opens_at=now - minute,
    )  # fmt: skip
    Environment.objects.filter(pk=task.pk).update(active_per_owner=0)
    rows = players(task, 2)
    for row in rows:
        registration_create(tournament=cup, agent=row.agent, by=row.agent.owner, now=now)
    late = factories.submission(rows[0].agent)
    factories.build(late)
    factories.validation(late, JobState.RUNNING)

    def state_at(moment: int) -> str:
        planned_begin(Environment.objects.get(pk=task.pk), now=now + moment * minute)
        return fresh(cup).state

    assert state_at(60) == TournamentState.PLANNED
    late.validations.all().delete()
    factories.validation(late)
    assert state_at(61) == TournamentState.RUNNING
    assert set(cup.participants.values_list("submission", flat=True)) == {late.pk, rows[1].pk}


def test_an_owner_registers_as_many_agents_as_in_other_tournaments(task: Environment) -> None:
    cup = factories.planned(task, format="score", registration_opens_at=LATER - timedelta(minutes=1))
    Environment.objects.filter(pk=task.pk).update(active_per_owner=1)
    one, two = players(task, 2)
    registration_create(tournament=cup, agent=one.agent, by=one.agent.owner, now=LATER)
    with pytest.raises(Refused, match="may register up to 1 agent"):
        registration_create(tournament=cup, agent=two.agent, by=two.agent.owner, now=LATER)


def test_scripts_which_report_their_own_scores_take_no_part(task: Environment) -> None:
    rows = players(task, 2)
    factories.script_evaluation(factories.script(factories.agent(factories.user("sam"), task)))
    cup = begun(rows, "score")
    assert cup.participants.count() == 2


def test_a_plan_says_how_long_it_takes_and_what_does_not_fit(task: Environment) -> None:
    rows = players(task, 3)
    factories.evaluation(rows[0])
    plan = Tournament(environment=task, name="Finals", format="score", starts_at=LATER)
    found = plan_preview(plan, [])
    assert (found.eligible, found.obstacle) == (3, "")
    tournament_plan(tournament=plan, now=LATER - timedelta(hours=1))
    assert not plan.is_rated
    for fields, words in (
        ({"format": "swiss"}, "has one seat, so its agents never meet: choose “By score”"),
        ({"seeded_by": "DRAWN"}, "need no seeds"),
        ({"has_openings": False}, "have no openings"),
        ({"settings": {"episodes": 1}}, "make it a whole number from 2"),
    ):
        made = Tournament(**{"environment": task, "name": "Finals", "format": "score", "starts_at": LATER} | fields)
        with pytest.raises(Refused, match=words):
            tournament_plan(tournament=made, now=LATER - timedelta(hours=1))
    two = Tournament(environment=factories.environment(), name="Cup", format="score", starts_at=LATER)
    with pytest.raises(Refused, match="has 2 seats, so its agents meet"):
        tournament_plan(tournament=two, now=LATER - timedelta(hours=1))
    assert tournament_call_off(tournament=plan, reason="Nobody came.")
