"""Rows for tests, made the short way: each function returns one row as it would look after the fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations, count
from typing import Any, TypeVar
from uuid import UUID

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from arena_kit.environment.registry import get_spec
from arena_kit.ranking.scores import summarise_scores
from core.environments.services import environment_sync
from core.evaluations.selectors import ranking_list
from core.evaluations.services import standing_decide
from core.jobs.locks import agent_lock
from core.models import (
    Agent,
    AnalysedPosition,
    Analysis,
    Blunder,
    Build,
    CancelCode,
    Challenge,
    ChallengeKind,
    Delivery,
    Drill,
    Duel,
    DuelOutcome,
    Environment,
    EnvironmentTrial,
    ErrorMail,
    Evaluation,
    Job,
    JobFault,
    JobState,
    Lens,
    Letter,
    LetterKind,
    Notice,
    NoticeChoice,
    PackageBuild,
    Participant,
    Promotion,
    Publication,
    Rating,
    RatingPoint,
    RatingPool,
    Recording,
    Rollout,
    Run,
    Season,
    SeedList,
    Sitting,
    Submission,
    SubmissionForm,
    Tournament,
    TournamentSchedule,
    TournamentState,
    User,
    Validation,
    Webhook,
)
from core.tournaments.planning import tournament_plan

PASSWORD = "correct-horse-battery"
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
_numbers = count(1)
AnyJob = TypeVar("AnyJob", bound=Job)


@dataclass(frozen=True, slots=True)
class Cast:
    """alice owns things, bob is in her team, charlie is outside, olga organises."""

    alice: User
    bob: User
    charlie: User
    olga: User


def cast() -> Cast:
    return Cast(
        alice=user("alice", team="Blue"),
        bob=user("bob", team="Blue"),
        charlie=user("charlie", team="Red"),
        olga=user("olga", is_staff=True, is_superuser=True),
    )


def user(name: str, *, team: str = "", is_staff: bool = False, is_superuser: bool = False) -> User:
    person = User(username=name, email=f"{name}@arena.example", team=team, is_staff=is_staff, is_superuser=is_superuser)
    person.email_confirmed_at = NOON
    person.set_password(PASSWORD)
    person.save()
    return person


def second_factor(person: User) -> tuple[Authenticator, list[str]]:
    """An app of this person, and recovery codes."""
    app = TOTP.activate(person, generate_totp_secret()).instance
    return app, RecoveryCodes.activate(person).get_unused_codes()


def environment(slug: str = "tic-tac-toe-v1") -> Environment:
    """The row of a real environment."""
    return environment_sync(spec=get_spec(slug))[0]


def task(slug: str = "cart-pole", *, episodes: int = 4, practice: int = 2) -> Environment:
    """The row of a real environment with one seat, ranked by so many hidden seeds, with so many public ones."""
    spec = replace(get_spec(slug), episodes_per_evaluation=episodes, matches_per_validation=practice)
    return environment_sync(spec=spec, reset_limits=True)[0]


def agent(owner: User, environment: Environment, name: str = "", *, is_public: bool = False) -> Agent:
    return Agent.objects.create(
        owner=owner, environment=environment, name=name or f"agent-{next(_numbers):05}", is_public=is_public
    )


def submission(agent: Agent, **fields: object) -> Submission:
    """The next version of an agent, with an archive and nothing done yet."""
    row = Submission(
        agent=agent, number=agent.submissions.count() + 1, archive_sha256="0" * 64, archive_bytes=4, **fields
    )
    row.archive.save("archive.zip", ContentFile(b"zip!"), save=False)
    row.save()
    return row


def build(submission: Submission, state: JobState = JobState.SUCCEEDED, **fields: object) -> Build:
    return _job(Build(submission=submission), state, seconds=4, **fields)


def error_mail() -> ErrorMail:
    return ErrorMail.objects.create(place="ValueError page.py:7", subject="It broke", body="Here.", mail_next_at=NOON)


def letter() -> Letter:
    """A mail that waits to be sent."""
    return Letter.objects.create(
        kind=LetterKind.CONFIRM_EMAIL, email="dora@arena.example", created_at=NOON, mail_next_at=NOON
    )


def validation(submission: Submission, state: JobState = JobState.SUCCEEDED, **fields: object) -> Validation:
    version = submission.agent.environment.spec_id
    row = Validation(submission=submission, environment_version=version, seed=7, match_count=50)
    return _job(row, state, seconds=9, **fields)


def sitting(submission: Submission, state: JobState = JobState.SUCCEEDED, **fields: object) -> Sitting:
    """Return a match of a person, the agent's owner, in the first seat."""
    row = Sitting(
        user=submission.agent.owner,
        submission=submission,
        environment_version=submission.agent.environment.spec_id,
        seed=7,
        match_count=1,
        persons_seat=0,
        persons_turn_at=NOON,
        outcome=DuelOutcome.PLAYER_1 if state == JobState.SUCCEEDED else DuelOutcome.NONE,
    )
    return _job(row, state, seconds=9, **fields)


def publication(submission: Submission, state: JobState = JobState.SUCCEEDED, **fields: object) -> Publication:
    return _job(Publication(submission=submission), state, seconds=1, **fields)


def evaluation(
    submission: Submission,
    state: JobState = JobState.SUCCEEDED,
    *,
    scores: Sequence[float] = (10.0, 20.0, 30.0, 40.0),
    seed_list: SeedList | None = None,
    **fields: object,
) -> Evaluation:
    """An evaluation on the seeds that rank now, unless others are given; a good one stands on the board as it should.

    scores: of the episodes that are over.
    """
    environment = submission.agent.environment
    seeds = seed_list or ranking_list(environment)
    assert seeds is not None
    values: dict[str, object] = {
        "episode_count": len(seeds.seeds),
        "episodes_done": 0 if state == JobState.QUEUED else len(scores),
        "episodes": [(number, score, 9, 0.018) for number, score in enumerate(scores, start=1)],
    }
    if state == JobState.SUCCEEDED:
        summary = summarise_scores(scores)
        values |= {
            "score": summary.mean.value,
            "score_low": summary.mean.low,
            "score_high": summary.mean.high,
            "interquartile_mean": summary.interquartile_mean,
            "median": summary.median,
            "worst_decile": summary.worst_decile,
            "seconds_per_move": 0.002,
        }
    return _evaluation(submission, state, seed_list=seeds, **values | fields)


def script_evaluation(
    submission: Submission, state: JobState = JobState.SUCCEEDED, *, score: float = 50.0, **fields: object
) -> Evaluation:
    """A run of a script, with the score that it has reported."""
    values: dict[str, object] = {"is_verified": False}
    if state == JobState.SUCCEEDED:
        values |= {"score": score, "episode_count": 100, "episodes_done": 100}
    return _evaluation(submission, state, **values | fields)


def _evaluation(submission: Submission, state: JobState, **fields: object) -> Evaluation:
    agent = submission.agent
    row = Evaluation(
        submission=submission,
        agent=agent,
        environment=agent.environment,
        environment_version=agent.environment.spec_id,
    )
    made = _job(row, state, seconds=7, **fields)
    # As services do: the agent stays locked to the end of their transaction.
    with transaction.atomic():
        standing_decide(agent=agent_lock(agent.pk))
    made.refresh_from_db()
    return made


def recording(
    evaluation: Evaluation,
    choice: Recording.Choice = Recording.Choice.BEST,
    state: JobState = JobState.SUCCEEDED,
    **fields: object,
) -> Recording:
    """A drawn episode, without its files."""
    return _job(Recording(evaluation=evaluation, choice=choice, episode_number=1), state, seconds=3, **fields)


def environment_trial(
    by: User, slug: str = "nim", state: JobState = JobState.SUCCEEDED, **fields: object
) -> EnvironmentTrial:
    """The uploaded folder of a new environment, without its files."""
    made = EnvironmentTrial(slug=slug, version=1, uploaded_by=by, archive="folder.zip", archive_sha256="0" * 64)
    made.report = "report.json" if state == JobState.SUCCEEDED else ""
    return _job(made, state, seconds=3, **fields)


def analysis(duel: Duel, number: int = 1, state: JobState = JobState.SUCCEEDED, **fields: object) -> Analysis:
    """The analysis of a match, asked for by the owner of player 1, with one solved position."""
    asked_by = duel.player_1.agent.owner
    made = _job(Analysis(duel=duel, match_number=number, asked_by=asked_by), state, seconds=3, **fields)
    if state == JobState.SUCCEEDED:
        AnalysedPosition.objects.create(analysis=made, ply=0, to_move=0, value=0, plies=9, best=[4])
    return made


def blunder(version: Submission, duel: Duel, number: int = 1, **fields: object) -> Blunder:
    """The position of Tic-tac-toe after a corner: only the centre keeps the draw, and the version did not play it."""
    given: dict[str, object] = {
        "environment_version": version.agent.environment.spec_id,
        "seat": 1,
        "ply": 1,
        "actions": [0],
        "played": 1,
        "holding": [4],
        "losing": [1, 2, 3, 5, 6, 7, 8],
        "before": 0.5,
        "after": 0.0,
    }
    return Blunder.objects.create(
        agent=version.agent,
        key=f"{duel.pk}-{number}-{version.pk}",
        submission=version,
        duel=duel,
        match_number=number,
        seed=duel.seed,
        **(given | fields),
    )


def drill(submission: Submission, state: JobState = JobState.SUCCEEDED, **fields: object) -> Drill:
    """A drill of a version."""
    rules = submission.agent.environment.spec_id
    return _job(Drill(submission=submission, environment_version=rules), state, seconds=3, **fields)


def script(agent: Agent) -> Submission:
    """The next version of an agent as a script, built."""
    row = submission(agent, form=SubmissionForm.SCRIPT)
    build(row)
    return row


def ready(agent: Agent) -> Submission:
    """The next version of an agent, built and validated."""
    row = submission(agent)
    build(row)
    validation(row)
    return row


def tournament(
    submissions: Sequence[Submission], *, edition: int = 1, state: TournamentState = TournamentState.FINISHED
) -> Tournament:
    """An edition in which an earlier submission has beaten every later one; a running one has played half."""
    row = Tournament.objects.create(
        environment=submissions[0].agent.environment,
        edition=edition,
        state=state,
        ended_at=None if state == TournamentState.RUNNING else NOON + timedelta(hours=edition),
    )
    pairs = list(combinations(submissions, 2))
    played = pairs[: len(pairs) // 2] if state == TournamentState.RUNNING else pairs
    for number, (first, second) in enumerate(pairs, start=1):
        duel(row, first, second, number=number, state=JobState.SUCCEEDED if number <= len(played) else JobState.QUEUED)
    for player in submissions:
        wins = sum(first == player for first, _ in played)
        losses = sum(second == player for _, second in played)
        Participant.objects.create(
            tournament=row, submission=player, wins=wins, losses=losses, points=2 * wins, total_score=wins - losses
        )
    _rank(row)
    for one in row.participants.select_related("submission"):
        score = int(one.total_score)
        counts = {"duel_count": one.wins + one.losses, "worst_rank": len(submissions)}
        rating(one.submission, 1500 + 10 * score, rank=one.rank, **counts)
        older = Rating.objects.filter(submission__agent=one.submission.agent_id).exclude(submission=one.submission)
        older.update(rank=None, best_rank=None, worst_rank=None, best_chance=None)
    rating_pool(row.environment, duel_count=len(played))
    return row


def rating(submission: Submission, value: float = 1500.0, *, duel_count: int = 1, **fields: object) -> Rating:
    """A rating with an interval of 50 points to each side, first of the ranked, with a live one 20 above."""
    figures = {"low": value - 50, "high": value + 50, "live": value + 20, "duel_count": duel_count}
    ranks = {"rank": 1, "best_rank": 1, "worst_rank": 2, "best_chance": 0.5, "match_count": 10 * duel_count}
    row, _ = Rating.objects.update_or_create(
        submission=submission, defaults={"value": value, **figures, **ranks, **fields}
    )
    return row


def rating_point(submission: Submission, at: datetime, value: float = 1500.0, **fields: object) -> RatingPoint:
    """A moment of its history: an interval of 50 points to each side, rank 1 of 2."""
    figures: dict[str, Any] = {"low": value - 50, "high": value + 50, "live": value + 20}
    ranks = {"rank": 1, "best_rank": 1, "worst_rank": 2}
    return RatingPoint.objects.create(
        environment=submission.agent.environment, submission=submission, at=at, value=value,
        **{**figures, **ranks, **fields},
    )  # fmt: skip


def rating_pool(environment: Environment, *, duel_count: int = 1) -> RatingPool:
    """What the last fit found of an environment, when so many duels had been played."""
    counts = {"duel_count": duel_count, "ledger_version": 0}
    found = {"spread": 200.0, "first_seat": 10.0, "first_seat_low": -10.0, "first_seat_high": 30.0}
    row, _ = RatingPool.objects.update_or_create(
        environment=environment, defaults={**counts, **found, "is_connected": True, "fitted_at": NOON}
    )
    return row


def lens(environment: Environment) -> Lens:
    """What was seen of an environment: one pair, in which one beats the other."""
    found = {"nash": [], "cycles": [], "cycle_count": 0, "pair_count": 1, "clear_count": 1}
    return Lens.objects.update_or_create(environment=environment, defaults=found)[0]


def duel(tournament: Tournament, player_1: Submission, player_2: Submission, *, number: int, state: JobState) -> Duel:
    """A duel; a played one has been won by player 1, ten matches to none."""
    is_played = state == JobState.SUCCEEDED
    row = Duel(
        tournament=tournament,
        number=number,
        round=1,
        player_1=player_1,
        player_2=player_2,
        environment_version=tournament.environment.spec_id,
        seed=number,
        match_count=10,
        outcome=DuelOutcome.PLAYER_1 if is_played else DuelOutcome.NONE,
        player_1_wins=10 if is_played else 0,
        player_1_score=10.0 if is_played else 0.0,
        player_2_score=-10.0 if is_played else 0.0,
    )
    return _job(row, state, seconds=3, matches_done=10 if is_played else 0)


def season(environment: Environment, name: str = "autumn") -> Season:
    """Thirty days."""
    return Season.objects.create(environment=environment, name=name, begins_at=NOON, ends_at=NOON + timedelta(days=30))


def planned(environment: Environment, **fields: object) -> Tournament:
    """A tournament of an organiser that registration is open for until tomorrow; it begins then."""
    now = timezone.now()
    values: dict[str, object] = {
        "name": "cup",
        "registration_opens_at": now - timedelta(hours=1),
        "registration_closes_at": now + timedelta(days=1),
        "starts_at": now + timedelta(days=1),
    }
    return tournament_plan(tournament=Tournament(environment=environment, **values | fields), now=now)


def schedule(environment: Environment, name: str = "weekly", **fields: object) -> TournamentSchedule:
    """Every Friday at 18:00, since noon of the first of March 2026, a Sunday; not in django-q's table."""
    values: dict[str, object] = {"cron": "0 18 * * 5", "handled_until": NOON, **fields}
    return TournamentSchedule.objects.create(environment=environment, name=name, **values)


def promotion(candidate: Submission, incumbent: Submission) -> Promotion:
    """A promotion whose test is running, without a duel."""
    return Promotion.objects.create(candidate=candidate, incumbent=incumbent, test={"elo0": 0.0, "elo1": 50.0})


def challenge(submission: Submission) -> Challenge:
    """Its owner's, of the top ten, without duels."""
    return Challenge.objects.create(user=submission.agent.owner, submission=submission, kind=ChallengeKind.TOP_TEN)


def challenged(submission: Submission, *rivals: Submission, state: JobState = JobState.SUCCEEDED) -> Challenge:
    """A challenge with a duel against each, won eight to one with one draw."""
    row = challenge(submission)
    for number, rival in enumerate(rivals, start=1):
        duel = Duel.objects.create(
            challenge=row,
            number=number,
            round=1,
            player_1=submission,
            player_2=rival,
            environment_version=submission.agent.environment.spec_id,
            seed=number,
            match_count=10,
        )
        result = {"outcome": DuelOutcome.PLAYER_1, "player_1_wins": 8, "player_2_wins": 1, "draws": 1}
        moved(Duel.objects.filter(pk=duel.pk), state, **result if state == JobState.SUCCEEDED else {})
    return row


def run(caller: User, player_1: Submission, player_2: Submission, key: str = "match-1") -> Run:
    """A run whose duel waits, of some program."""
    names = {"player_1_name": "first", "player_2_name": "second"}
    row = Run.objects.create(caller=caller, key=key, content_sha256="0" * 64, expires_at=NOON, **names)
    Duel.objects.create(
        run=row,
        number=1,
        round=1,
        player_1=player_1,
        player_2=player_2,
        environment_version=player_1.agent.environment.spec_id,
        seed=1,
        match_count=1,
    )
    return row


def notice(user: User, title: str = "anna v1 is validated") -> Notice:
    """An unread notice to a person who has chosen which notices to get."""
    NoticeChoice.objects.get_or_create(user=user, kind="VALIDATED", defaults={"in_inbox": True, "by_mail": False})
    return Notice.objects.create(user=user, kind="VALIDATED", title=title, text="It may play.", created_at=NOON)


def webhook(name: str = "chat", **fields: object) -> Webhook:
    """A webhook that has been sent one event."""
    values = {"secret_url": "https://hooks.example/t0ken", "secret": "s", "kinds": ["ALARM"]} | fields
    row = Webhook.objects.create(name=name, **values)
    sent = {"event_id": UUID(int=1), "kind": "TEST", "body": "{}", "created_at": NOON, "done_at": NOON}
    Delivery.objects.create(webhook=row, state="DONE", **sent)
    return row


def moved(rows: QuerySet[AnyJob], state: JobState, **fields: object) -> None:
    """Put jobs into another state, with all that rows in it have; a duel that succeeded was drawn."""
    is_over = state not in (JobState.QUEUED, JobState.RUNNING)
    is_running = state == JobState.RUNNING
    values: dict[str, object] = {
        "claim_token": UUID(int=1) if is_running else None,
        "lease_expires_at": NOON + timedelta(days=36500) if is_running else None,
        "started_at": None if state == JobState.QUEUED else NOON,
        "ended_at": NOON + timedelta(seconds=5) if is_over else None,
        "worker": "worker-1" if is_running else "",
        "fault": JobFault.PLAYER if state == JobState.FAILED else JobFault.NONE,
        "cancel_code": CancelCode.BY_ORGANISER if state == JobState.CANCELLED else "",
    }
    if rows.model is Duel:
        won = ("player_1_wins", "player_2_wins", "player_1_errors", "player_2_errors", "draws")
        done = F("match_count") if state == JobState.SUCCEEDED else 0
        outcome = DuelOutcome.DRAW if state == JobState.SUCCEEDED else DuelOutcome.NONE
        values |= {**dict.fromkeys(won, 0), "draws": done, "matches_done": done, "outcome": outcome}
    if rows.model is Sitting:
        values["outcome"] = DuelOutcome.DRAW if state == JobState.SUCCEEDED else DuelOutcome.NONE
    if rows.model is PackageBuild and state == JobState.SUCCEEDED:
        values |= {"state_digest": "d" * 64, "fresh": "fresh.zip"}
    if rows.model is EnvironmentTrial and state == JobState.SUCCEEDED:
        values["report"] = "report.json"
    if rows.model is Rollout:
        judged = {JobState.SUCCEEDED: "SOLVED", JobState.FAILED: "NOT_SOLVED"}.get(state, "")
        judged = "" if fields.get("fault") == JobFault.PLATFORM else judged
        values |= {"outcome": judged, "score": 0.0 if judged else None, "judge_version": 1 if judged else None}
    rows.update(state=state, **values | fields)


def _rank(tournament: Tournament) -> None:
    points = sorted(tournament.participants.values_list("points", flat=True), reverse=True)
    for row in tournament.participants.all():
        row.rank = points.index(row.points) + 1
        row.save(update_fields=["rank"])


def _job(row: AnyJob, state: JobState, *, seconds: int, **fields: object) -> AnyJob:
    row.state = state
    if state != JobState.QUEUED:
        row.attempt, row.worker, row.started_at = 1, "worker-1", NOON
    if state == JobState.RUNNING:
        row.claim_token, row.lease_expires_at = UUID(int=1), NOON + timedelta(days=36500)
    if row.is_over:
        row.ended_at = NOON + timedelta(seconds=seconds)
    if state == JobState.FAILED:
        row.fault, row.error_code, row.error = JobFault.PLAYER, "raised", "step() raised ValueError: no such cell"
    if state == JobState.CANCELLED:
        row.cancel_code = CancelCode.BY_ORGANISER
    for name, value in fields.items():
        setattr(row, name, value)
    if row.fault != JobFault.PLAYER:
        row.public_error = row.error
    row.save()
    return row
