"""What the database refuses from any program: at least one case for every condition of every model."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import DatabaseError, IntegrityError, connection, models, transaction
from django.db.models import F

from core.append_only import unprotected
from core.jobs.kinds import JOB_MODELS
from core.models import (
    Agent,
    AnalysedPosition,
    Analysis,
    Assignment,
    Baseline,
    Batch,
    Blunder,
    Course,
    Delivery,
    DrillMove,
    Duel,
    Environment,
    EnvironmentTrial,
    Evaluation,
    InviteLink,
    JobState,
    LanguageModel,
    LedgerChange,
    LedgerEntry,
    LedgerSums,
    LedgerVoid,
    Lens,
    LiveCheckpoint,
    LiveRating,
    MarkByHand,
    Notice,
    Package,
    PackageBuild,
    PairTotal,
    Participant,
    Plan,
    PlanMeeting,
    Promotion,
    Publication,
    Rating,
    RatingPoint,
    RatingPool,
    Recording,
    Rollout,
    RolloutVerdict,
    Run,
    Season,
    SeedList,
    Sitting,
    SittingMove,
    Submission,
    Task,
    TaskSet,
    Tournament,
    TournamentSchedule,
    TournamentState,
    WorkerHost,
)
from core.ratings.ledger import ledger_change
from core.tests import applications, factories
from core.tests.factories import NOON

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
INFINITE = float("inf")
LATER = NOON + timedelta(days=1)

ENDED: dict[str, Any] = {"state": "SUCCEEDED", "ended_at": NOON, "lease_expires_at": None, "fault": "NONE"}
RUNNING: dict[str, Any] = {
    "state": "RUNNING",
    "worker": "w",
    "started_at": NOON,
    "claim_token": "00000000-0000-0000-0000-000000000001",
    "lease_expires_at": NOON,
    "ended_at": None,
}
CANCELLED: dict[str, Any] = {**ENDED, "state": "CANCELLED", "cancel_code": "by_organiser"}
WAITING: dict[str, Any] = {"state": "QUEUED", "claim_token": None, "lease_expires_at": None, "ended_at": None}
ILLEGAL_JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "a state that does not exist": ("state_known", {**WAITING, "state": "DONE"}),
    "waiting under a claim": ("state_is_whole", {**WAITING, "claim_token": RUNNING["claim_token"]}),
    "waiting with a lease": ("state_is_whole", {**WAITING, "lease_expires_at": NOON}),
    "waiting, but ended": ("state_is_whole", {**WAITING, "ended_at": NOON}),
    "running without a claim": ("running_is_claimed", {**RUNNING, "claim_token": None}),
    "running without a lease": ("running_is_claimed", {**RUNNING, "lease_expires_at": None}),
    "running without a worker": ("state_is_whole", {**RUNNING, "worker": ""}),
    "running, but never started": ("state_is_whole", {**RUNNING, "started_at": None}),
    "running, but ended": ("state_is_whole", {**RUNNING, "ended_at": NOON}),
    "succeeded without an end": ("state_is_whole", {**ENDED, "ended_at": None}),
    "succeeded with a lease": ("state_is_whole", {**ENDED, "lease_expires_at": NOON}),
    "succeeded by a fault": ("state_is_whole", {**ENDED, "fault": "PLAYER"}),
    "failed without a fault": ("state_is_whole", {**ENDED, "state": "FAILED"}),
    "failed by an unknown fault": ("state_is_whole", {**ENDED, "state": "FAILED", "fault": "REFEREE"}),
    "failed without an end": ("state_is_whole", {**ENDED, "state": "FAILED", "fault": "PLAYER", "ended_at": None}),
    "cancelled without an end": ("state_is_whole", {**CANCELLED, "ended_at": None}),
    "cancelled with a lease": ("state_is_whole", {**CANCELLED, "lease_expires_at": NOON}),
    "cancelled without a code": ("cancelled_has_code", {**CANCELLED, "cancel_code": ""}),
    "cancelled with a code that is unknown": ("cancelled_has_code", {**CANCELLED, "cancel_code": "bored"}),
    "waiting with a priority above all": ("priority_in_range", {**WAITING, "priority": 11}),
    "waiting with a priority below all": ("priority_in_range", {**WAITING, "priority": -11}),
    "succeeded with the code of a cancelled one": ("cancelled_has_code", {**ENDED, "cancel_code": "by_owner"}),
}

ILLEGAL: list[tuple[str, type[models.Model], dict[str, Any]]] = [
    ("duel_players_differ", Duel, {"player_1": F("player_2")}),
    ("duel_result_is_whole", Duel, {"outcome": ""}),
    ("duel_result_is_whole", Duel, {"draws": 7}),
    ("duel_result_is_whole", Duel, {"matches_done": 9}),
    ("duel_numbers_in_range", Duel, {"number": 0}),
    ("duel_numbers_in_range", Duel, {"round": 0}),
    ("duel_numbers_in_range", Duel, {"match_count": 9}),
    ("duel_numbers_in_range", Duel, {"player_1_score": INFINITE}),
    ("duel_verdict_is_dated", Duel, {"verdict": "VERIFIED"}),
    ("duel_verdict_is_dated", Duel, {"verified_at": NOON}),
    ("duel_verdict_is_dated", Duel, {"verdict": "GUESSED", "verified_at": NOON}),
    ("ledger_entry_in_range", LedgerEntry, {"seat": 2}),
    ("ledger_entry_in_range", LedgerEntry, {"opponent": F("submission")}),
    ("ledger_entry_in_range", LedgerEntry, {"score": -INFINITE}),
    ("ledger_entry_has_matches", LedgerEntry, {"wins": 0}),
    ("ledger_void_has_reason", LedgerVoid, {"reason": ""}),
    ("rating_in_interval", Rating, {"value": INFINITE}),
    ("rating_in_interval", Rating, {"value": INFINITE, "high": INFINITE}),
    ("rating_in_interval", Rating, {"low": F("value") + 1}),
    ("rating_in_interval", Rating, {"high": F("value") - 1}),
    ("rating_in_interval", Rating, {"low": -INFINITE}),
    ("rating_in_interval", Rating, {"live": INFINITE}),
    ("rating_rank_is_whole", Rating, {"best_rank": 0}),
    ("rating_rank_is_whole", Rating, {"rank": 2, "best_rank": 3}),
    ("rating_rank_is_whole", Rating, {"rank": 9, "worst_rank": 8}),
    ("rating_rank_is_whole", Rating, {"rank": None}),
    ("rating_rank_is_whole", Rating, {"best_chance": None}),
    ("rating_rank_is_whole", Rating, {"best_chance": 1.1}),
    ("environment_kind_known", Environment, {"kind": "APP", "seats": 2}),
    ("environment_kind_known", Environment, {"kind": "ELSE"}),
    ("package_numbers_in_range", Package, {"number": 0}),
    ("package_numbers_in_range", Package, {"memory_bytes": 0}),
    ("packagebuild_result_is_whole", PackageBuild, {"state_digest": ""}),
    ("packagebuild_result_is_whole", PackageBuild, {"fresh": ""}),
    ("environmenttrial_has_report", EnvironmentTrial, {"report": ""}),
    ("environmenttrial_live_is_tried", EnvironmentTrial, {"live_at": NOON}),
    ("task_is_whole", Task, {"revision": 0}),
    ("task_is_whole", Task, {"split": "OPEN"}),
    ("task_is_whole", Task, {"key": ""}),
    ("task_set_from_one", TaskSet, {"number": 0}),
    ("task_acceptance_is_dated", Task, {"acceptance": "ACCEPTED"}),
    ("task_acceptance_is_dated", Task, {"verified_at": NOON}),
    ("languagemodel_known", LanguageModel, {"form": "else"}),
    ("languagemodel_known", LanguageModel, {"users": "ALL"}),
    ("batch_is_whole", Batch, {"attempts": 0}),
    ("batch_is_whole", Batch, {"purpose": "FUN"}),
    ("batch_is_whole", Batch, {"agent_kind": "MODEL"}),
    ("batch_is_whole", Batch, {"agent_kind": "SUBMISSION"}),
    ("rollout_in_range", Rollout, {"score": 1.1}),
    ("rollout_in_range", Rollout, {"score": INFINITE}),
    ("rollout_in_range", Rollout, {"ended_by": "boredom"}),
    ("rollout_in_range", Rollout, {"attempt_number": 0}),
    ("rollout_result_is_whole", Rollout, {**ENDED, "outcome": ""}),
    ("rollout_result_is_whole", Rollout, {**ENDED, "outcome": "SOLVED", "score": None}),
    ("rollout_result_is_whole", Rollout, {**CANCELLED, "outcome": "SOLVED"}),
    ("rollout_result_is_whole", Rollout, {**WAITING, "outcome": "PARTIAL"}),
    ("rolloutverdict_in_range", RolloutVerdict, {"score": 2.0}),
    ("rolloutverdict_in_range", RolloutVerdict, {"reason": "MOOD"}),
    ("rating_pool_in_range", RatingPool, {"spread": 0}),
    ("rating_pool_in_range", RatingPool, {"spread": INFINITE}),
    ("rating_pool_in_range", RatingPool, {"first_seat_low": 11}),
    ("rating_pool_in_range", RatingPool, {"first_seat_high": INFINITE}),
    ("rating_pool_in_range", RatingPool, {"fit_seconds": -1}),
    ("lens_clear_pairs_have_met", Lens, {"clear_count": F("pair_count") + 1}),
    ("rating_point_in_range", RatingPoint, {"value": INFINITE}),
    ("rating_point_in_range", RatingPoint, {"low": F("value") + 1}),
    ("rating_point_in_range", RatingPoint, {"high": None}),
    ("rating_point_in_range", RatingPoint, {"live": -INFINITE}),
    ("rating_point_in_range", RatingPoint, {"rank": None}),
    ("rating_point_in_range", RatingPoint, {"rank": 9}),
    ("rating_point_in_range", RatingPoint, {"best_rank": 0}),
    ("participant_adds_up", Participant, {"rank": 0}),
    ("participant_adds_up", Participant, {"points": F("points") + 1}),
    ("participant_adds_up", Participant, {"rating": INFINITE}),
    ("participant_rating_in_interval", Participant, {"rating_low": 1400, "rating_high": 1600}),
    ("participant_rating_in_interval", Participant, {"rating": 1500, "rating_low": 1400}),
    ("participant_rating_in_interval", Participant, {"rating": 1500, "rating_low": 1501, "rating_high": 1502}),
    ("participant_rating_in_interval", Participant, {"rating": 1500, "rating_low": 1400, "rating_high": INFINITE}),
    ("tournament_state_is_whole", Tournament, {"edition": 0}),
    ("tournament_state_is_whole", Tournament, {"state": "PAUSED"}),
    ("tournament_state_is_whole", Tournament, {"ended_at": None}),
    ("tournament_state_is_whole", Tournament, {"state": "RUNNING"}),
    ("tournament_state_is_whole", Tournament, {"state": "PLANNED"}),
    ("tournament_state_is_whole", Tournament, {"started_at": None}),
    ("tournament_windows_in_order", Tournament, {"registration_opens_at": NOON, "registration_closes_at": NOON}),
    ("tournament_windows_in_order", Tournament, {"registration_closes_at": LATER, "starts_at": NOON}),
    ("tournament_windows_in_order", Tournament, {"starts_at": LATER, "ends_at": NOON}),
    ("tournament_windows_in_order", Tournament, {"max_participants": 1}),
    ("schedule_has_room", TournamentSchedule, {"max_participants": 1}),
    ("season_ends_later", Season, {"ends_at": F("begins_at")}),
    ("assignment_opens_before", Assignment, {"due_at": F("opens_at")}),
    ("assignment_numbers_in_range", Assignment, {"late_days": 31}),
    ("assignment_numbers_in_range", Assignment, {"late_percent": 101}),
    ("assignment_numbers_in_range", Assignment, {"weight": 1001}),
    ("baseline_numbers_in_range", Baseline, {"percent": 96}),
    ("baseline_numbers_in_range", Baseline, {"marks": 0}),
    ("baseline_numbers_in_range", Baseline, {"agent": None, "score": INFINITE}),
    ("baseline_is_agent_or_score", Baseline, {"score": 1.0}),
    ("baseline_is_agent_or_score", Baseline, {"agent": None}),
    ("mark_by_hand_has_reason", MarkByHand, {"reason": ""}),
    ("mark_by_hand_has_reason", MarkByHand, {"marks": -1}),
    ("promotion_versions_differ", Promotion, {"incumbent": F("candidate")}),
    ("promotion_state_is_whole", Promotion, {"decided_at": NOON}),
    ("promotion_state_is_whole", Promotion, {"state": "ACTIVATED"}),
    ("promotion_state_is_whole", Promotion, {"state": "WON", "decided_at": NOON}),
    ("duel_belongs_once", Duel, {"tournament": None}),
    ("run_has_key", Run, {"key": ""}),
    ("run_player_names_differ", Run, {"player_2_name": "first"}),
    ("duel_expected_is_share", Duel, {"expected": 1.5}),
    ("environment_test_is_possible", Environment, {"test_elo0": 60}),
    ("environment_test_is_possible", Environment, {"test_elo1": 300}),
    ("environment_test_is_possible", Environment, {"test_alpha": 0}),
    ("environment_test_is_possible", Environment, {"test_beta": 0.5}),
    ("environment_test_is_possible", Environment, {"test_cap": 0}),
    ("agent_quarantine_whole", Agent, {"quarantined_at": NOON}),
    ("agent_quarantine_whole", Agent, {"quarantined_at": NOON, "quarantined_number": 1, "is_disabled": False}),
    ("agent_quarantine_whole", Agent, {"quarantined_number": 1, "is_disabled": True}),
    ("submission_is_whole", Submission, {"number": 0}),
    ("submission_is_whole", Submission, {"form": "PROSE"}),
    ("submission_is_whole", Submission, {"image": "there", "image_removed_at": NOON}),
    ("environment_numbers_in_range", Environment, {"seats": 0, "kind": "RULES"}),
    ("environment_numbers_in_range", Environment, {"version": 0}),
    ("environment_numbers_in_range", Environment, {"parallel_matches": 0}),
    ("environment_numbers_in_range", Environment, {"matches_per_validation": 0}),
    ("environment_numbers_in_range", Environment, {"cpu_count": 0}),
    ("environment_numbers_in_range", Environment, {"memory_limit_bytes": 0}),
    ("environment_numbers_in_range", Environment, {"start_seconds": 0}),
    ("environment_numbers_in_range", Environment, {"duel_seconds": -1}),
    ("environment_numbers_in_range", Environment, {"bank_seconds": -1}),
    ("environment_numbers_in_range", Environment, {"move_seconds": -1}),
    ("evaluation_result_is_whole", Evaluation, {"is_current": False, "score": None}),
    ("evaluation_result_is_whole", Evaluation, {"score": INFINITE}),
    ("evaluation_result_is_whole", Evaluation, {"episodes_done": F("episode_count") + 1}),
    ("evaluation_verified_has_seeds", Evaluation, {"seed_list": None}),
    ("evaluation_verified_has_seeds", Evaluation, {"is_verified": False}),
    ("evaluation_current_has_score", Evaluation, {"state": "CANCELLED"}),
    ("evaluation_verdict_is_dated", Evaluation, {"verdict": "MISMATCH"}),
    ("seedlist_purpose_known", SeedList, {"purpose": "SECRET"}),
    ("analysis_match_in_range", Analysis, {"match_number": 0}),
    ("blunder_gave_something_away", Blunder, {"after": F("before")}),
    ("blunder_gave_something_away", Blunder, {"before": 1.5}),
    ("drill_move_is_whole", DrillMove, {"action": None}),
    ("drill_move_is_whole", DrillMove, {"error_code": "move_timeout"}),
    ("analysed_position_is_whole", AnalysedPosition, {"value": 2, "plies": 1}),
    ("analysed_position_is_whole", AnalysedPosition, {"value": 1, "plies": None}),
    ("recording_in_range", Recording, {"choice": "FUNNY"}),
    ("recording_in_range", Recording, {"episode_number": 0}),
    (
        "publication_removed_was_there",
        Publication,
        {"removed_at": NOON, "folder": "there", "url": "https://git.example/"},
    ),
    ("publication_removed_was_there", Publication, {"removed_at": NOON}),
    ("publication_removed_was_there", Publication, {**WAITING, "removed_at": NOON, "folder": "there"}),
    ("workerhost_state_is_whole", WorkerHost, {"state": "GONE"}),
    ("workerhost_state_is_whole", WorkerHost, {"state": "DRAINING"}),
    ("workerhost_state_is_whole", WorkerHost, {"state": "ENDED"}),
    ("workerhost_state_is_whole", WorkerHost, {"ended_at": NOON}),
    ("notice_is_mailed_once", Notice, {"mailed_at": NOON, "mail_next_at": NOON}),
    ("delivery_state_is_whole", Delivery, {"state": "DONE", "done_at": None}),
    ("delivery_state_is_whole", Delivery, {"state": "WAITING", "next_at": None, "done_at": None}),
    ("delivery_state_is_whole", Delivery, {"state": "LOST"}),
    ("invite_link_has_room", InviteLink, {"account_count": F("most_accounts") + 1}),
    ("ledger_change_is_whole", LedgerChange, {"duel": None}),
    ("ledger_sums_in_order", LedgerSums, {"rated_version": 9}),
    ("ledger_sums_in_order", LedgerSums, {"rewritten_version": 9}),
    ("live_rating_is_finite", LiveRating, {"value": INFINITE}),
    ("live_checkpoint_is_finite", LiveCheckpoint, {"value": INFINITE}),
    ("pair_total_players_differ", PairTotal, {"second": F("first")}),
    ("plan_meeting_in_range", PlanMeeting, {"winner": 3}),
    ("plan_meeting_in_range", PlanMeeting, {"score_1": INFINITE}),
    ("agent_opponents_known", Agent, {"opponents": "FRIENDS"}),
    ("duel_branch_is_whole", Duel, {"origin_match": 1}),
    ("duel_branch_is_unrated", Duel, {"opening": [4], "origin_match": 1, "origin_ply": 1}),
    ("sitting_branch_is_whole", Sitting, {"origin_match": 1}),
    ("sitting_result_is_whole", Sitting, {"outcome": ""}),
    ("sitting_is_one_match_of_two", Sitting, {"match_count": 2}),
    ("sitting_is_one_match_of_two", Sitting, {"persons_seat": 2}),
    ("sitting_move_took_time", SittingMove, {"seconds": -1.0}),
    ("sitting_move_took_time", SittingMove, {"seconds": INFINITE}),
]
NEGATIVE = [
    (Duel, "draws"),
    (Duel, "attempt"),
    (LedgerEntry, "wins"),
    (LedgerEntry, "errors"),
    (Participant, "losses"),
    (Rating, "duel_count"),
    (Rating, "match_count"),
    (RatingPool, "duel_count"),
    (Submission, "archive_bytes"),
    (Evaluation, "episodes_done"),
]


@pytest.fixture
def arena() -> None:
    """One row at least of every model that has conditions, all legal."""
    owner = factories.user("ann")
    players = [factories.ready(factories.agent(owner, factories.environment())) for _ in range(2)]
    factories.publication(players[0])
    WorkerHost.objects.create(name="host", provider="local", created_at=NOON)
    tournament = factories.tournament(players)
    duel = tournament.duels.get()
    LedgerVoid.objects.create(duel=duel, reason="The clock was wrong.")
    LedgerEntry.objects.create(
        duel=duel, submission=players[0], opponent=players[1], seat=0,
        wins=10, losses=0, draws=0, errors=0, opponent_errors=0, score=10.0,
    )  # fmt: skip
    evaluation = factories.evaluation(factories.ready(factories.agent(owner, factories.task())))
    factories.recording(evaluation)
    factories.analysis(duel)
    blunder = factories.blunder(players[0], duel)
    factories.drill(players[0])
    DrillMove.objects.create(submission=players[0], blunder=blunder, action=3, is_found=True)
    kind = LedgerChange.Kind.RESULT
    ledger_change(environment_id=tournament.environment_id, kind=kind, tournament=tournament, duel=duel)
    LedgerSums.objects.create(environment=tournament.environment, version=1, rated_version=1)
    LiveRating.objects.create(submission=players[0], value=1520.0, duel_count=1)
    LiveCheckpoint.objects.create(
        environment=tournament.environment, version=1, submission=players[0], value=1520.0, duel_count=1
    )
    PairTotal.objects.create(environment=tournament.environment, first=players[0], second=players[1], wins=10)
    stage = Plan.objects.create(tournament=tournament).stages.create(place=0, key="swiss", name="Swiss", kind="swiss")
    stage.meetings.create(column=0, place=0, key="swiss.1.1", number=1, round=1)
    factories.rating_point(players[0], NOON)
    factories.lens(players[0].agent.environment)
    factories.season(tournament.environment)
    week = Assignment.objects.create(
        course=Course.objects.create(slug="robots", name="Robots"), environment=tournament.environment,
        name="Week 1", opens_at=NOON, due_at=LATER,
    )  # fmt: skip
    week.baselines.create(agent=players[0].agent)
    week.extensions.create(member=week.course.members.create(user=owner), due_at=LATER)
    week.marks_by_hand.create(user=owner, marks=5, reason="Helped others.")
    factories.schedule(tournament.environment)
    factories.promotion(players[1], players[0])
    # Its duel would be a second kind of duel, with conditions of its own.
    factories.run(owner, players[0], players[1]).duel.delete()
    SittingMove.objects.create(sitting=factories.sitting(players[0]), step=0, seat=0, action=4)
    factories.notice(owner)
    factories.webhook()
    InviteLink.objects.create(name="Class 9b", expires_at=LATER)
    applications.everything(owner)
    factories.environment_trial(owner)
    TaskSet.objects.get_or_create(environment=Task.objects.all()[0].environment, number=1)


def refused(rows: models.QuerySet[Any], fields: dict[str, Any]) -> str:
    """What the database says to it."""
    # The ledger would refuse every change, whatever it is.
    with unprotected(connection):
        try:
            with transaction.atomic():
                rows.update(**fields)
        except IntegrityError as error:
            return str(error)
    pytest.fail(f"{rows.model.__name__} was changed to {fields}")


@pytest.mark.slow
def test_no_job_is_in_a_state_that_its_row_belies(arena: None) -> None:
    for kind, model in JOB_MODELS.items():
        for case, (name, fields) in ILLEGAL_JOBS.items():
            said = refused(model._default_manager.all(), fields)
            # A row may break two conditions at once; either of them is right.
            assert f"{kind}_" in said, (case, said)
            assert any(word in said for word in (name, "state", "running", "current", "result")), (case, said)


@pytest.mark.slow
def test_illegal_rows_are_refused(arena: None) -> None:
    for name, model, fields in ILLEGAL:
        said = refused(model._default_manager.all(), fields)
        assert name in said or (name == "evaluation_current_has_score" and "evaluation" in said), (fields, said)


def test_nothing_that_is_counted_is_negative(arena: None) -> None:
    for model, field in NEGATIVE:
        assert "check" in refused(model._default_manager.all(), {field: -1}).lower(), (model, field)


def test_what_is_not_a_number_is_no_score(arena: None) -> None:
    for model, field in (
        (LedgerEntry, "score"),
        (Rating, "value"),
        (Rating, "live"),
        (Participant, "total_score"),
        (Duel, "player_1_score"),
    ):
        refused(model._default_manager.all(), {field: float("nan")})


@pytest.mark.parametrize("model", [LedgerEntry, LedgerVoid])
def test_the_ledger_only_grows(arena: None, model: type[models.Model]) -> None:
    rows = model._default_manager.all()
    for attempt in (lambda: rows.update(created_at=NOON), rows.delete, rows.get().save):
        with pytest.raises(DatabaseError, match="only grows"), transaction.atomic():
            attempt()
    assert rows.count() == 1


def test_every_condition_of_every_model_has_a_case() -> None:
    conditions = {
        constraint.name
        for model in apps.get_app_config("core").get_models()
        for constraint in model._meta.constraints
        if isinstance(constraint, models.CheckConstraint)
    }
    of_jobs = {f"{kind}_{name}" for kind in JOB_MODELS for name, _ in ILLEGAL_JOBS.values()}
    assert conditions == of_jobs | {name for name, *_ in ILLEGAL}


def test_jobs_go_their_way_within_the_conditions(arena: None) -> None:
    rows = JOB_MODELS["build"]._default_manager.all()
    for state in (JobState.QUEUED, JobState.RUNNING, JobState.QUEUED, JobState.FAILED, JobState.CANCELLED):
        factories.moved(rows, state)
    Tournament.objects.update(state=TournamentState.RUNNING, ended_at=None)
    Duel.objects.update(verdict="MISMATCH", verified_at=NOON + timedelta(days=1))
