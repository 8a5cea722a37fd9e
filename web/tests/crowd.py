"""Many rows at once, made without services: for tests that ask what lists cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

from allauth.usersessions.models import UserSession
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db import connection
from django.db.models import Model
from django.utils import timezone

from core.models import (
    AccountEvent,
    Agent,
    Alarm,
    ApiToken,
    AuditEntry,
    Build,
    Challenge,
    Delivery,
    DrillMove,
    Duel,
    Environment,
    ErrorMail,
    Evaluation,
    InviteLink,
    LedgerEntry,
    LedgerVoid,
    Letter,
    Notice,
    NoticeChoice,
    Participant,
    Promotion,
    Publication,
    Rating,
    RatingPoint,
    Recording,
    Registration,
    Run,
    Season,
    SeedList,
    Submission,
    Tournament,
    TournamentSchedule,
    User,
    Validation,
    Webhook,
    Worker,
)
from core.tests import factories
from core.tests.factories import NOON
from web.tests import drawn

AnyRow = TypeVar("AnyRow", bound=Model)
ENDED: dict[str, Any] = {"state": "SUCCEEDED", "attempt": 1, "worker": "w", "started_at": NOON, "ended_at": NOON}
EPISODES = 20


@dataclass(frozen=True, slots=True)
class Crowd:
    """An edition in which `hero` plays against all others, a planned cup for which all register, a season of many
    tournaments, a task with a board, and a user who has many of all."""

    game: Environment
    task: Environment
    hero: Submission
    learner: Submission
    tournament: Tournament
    cup: Tournament
    planned: Tournament
    season: Season
    evaluation: Evaluation
    challenge: Challenge
    numbers: count[int]


def crowd() -> Crowd:
    """The first of everything."""
    person = factories.user("hero", team="Blue")
    game, task = factories.environment(), factories.task(episodes=EPISODES)
    hero = factories.ready(factories.agent(person, game, "hero", is_public=True))
    tournament = factories.tournament([hero, factories.ready(factories.agent(person, game, "rival"))])
    learner = factories.ready(factories.agent(person, task, "learner", is_public=True))
    evaluation = factories.evaluation(learner, scores=[float(n) for n in range(EPISODES)])
    cup = drawn.cup([hero], game, edition=10_000)
    season, planned = factories.season(game), factories.planned(game)
    # Out of the way of the others.
    Tournament.objects.filter(pk=planned.pk).update(edition=20_000)
    Tournament.objects.filter(pk=tournament.pk).update(season=season)
    planned.refresh_from_db()
    challenge = factories.challenge(hero)
    return Crowd(game, task, hero, learner, tournament, cup, planned, season, evaluation, challenge, count(2))


def grow(crowd: Crowd, size: int) -> None:
    """Add so many of everything that is listed anywhere."""
    numbers, people, rivals = grow_results(crowd, size)
    person = crowd.hero.agent.owner
    drawn.add(crowd.cup, rivals)
    planned: dict[str, Any] = {"state": "PLANNED", "is_automatic": False, "started_at": None}
    made(Tournament(environment=crowd.game, edition=20_000 + n, **planned) for n in numbers)
    made(Tournament(environment=crowd.game, edition=30_000 + n, is_automatic=False) for n in numbers)
    made(Registration(tournament=crowd.planned, agent=rival.agent) for rival in rivals)
    own = [Agent(environment=crowd.game, owner=person, name=f"own-{n}", is_public=True) for n in numbers]
    versions(own)
    made(Registration(tournament=crowd.cup, agent=row) for row in (*own, *(rival.agent for rival in rivals)))
    made(Season(environment=crowd.game, name=f"{n}", begins_at=NOON, ends_at=timezone.now()) for n in numbers)
    made(ApiToken(owner=person, name=f"token {n}", digest=f"{n:064}", hint="rla_", expires_at=NOON) for n in numbers)
    later = timezone.now() + timedelta(days=1)
    made(Session(session_key=f"session {n}", session_data="", expire_date=later) for n in numbers)
    made(UserSession(user=person, ip="192.0.2.1", session_key=f"session {n}") for n in numbers)
    made(AccountEvent(user=person, action="log_in", is_refused=n % 2 == 0) for n in numbers)
    told = {"kind": "VALIDATED", "text": "It may play.", "created_at": NOON}
    made(Notice(user=person, title=f"rival-{n} is validated", **told) for n in numbers)
    hooks = made(Webhook(name=f"hook {n}", secret_url="https://hooks.example/", secret="s") for n in numbers)
    sent = {"event_id": UUID(int=1), "kind": "TEST", "body": "{}", "created_at": NOON}
    ends_at = timezone.now() + timedelta(days=1)
    made(InviteLink(name=f"Class {n}", tournament=crowd.planned, expires_at=ends_at) for n in numbers)
    made(Delivery(webhook=hook, state="DONE", done_at=NOON, **sent) for hook in hooks)
    made(NoticeChoice(user=one, kind="VALIDATED", in_inbox=True, by_mail=False) for one in people)
    made(ErrorMail(place=f"ValueError {n}", subject="It broke", body="Here.", mail_next_at=NOON) for n in numbers)
    made(Letter(kind="CONFIRM_EMAIL", email=one.email, created_at=NOON, mail_next_at=NOON) for one in people)
    made(
        TournamentSchedule(environment=crowd.game, name=f"{n}", cron="0 18 * * 5", handled_until=NOON) for n in numbers
    )
    made(Promotion(candidate=rivals[k], incumbent=crowd.hero, test={}) for k, _ in enumerate(numbers))
    figures = {"value": 1500, "low": 1450, "high": 1550, "live": 1520, "rank": 1, "best_rank": 1, "worst_rank": 2}
    made(RatingPoint(environment=crowd.game, submission=rival, at=NOON, **figures) for rival in rivals)
    made(Alarm(key=f"disk-{n}", message="It is full.", raised_at=NOON) for n in numbers)
    made(LogEntry(user=person, object_repr=f"row {n}", action_flag=2, action_time=timezone.now()) for n in numbers)
    made(AuditEntry(channel="ADMIN", operator="olga", action="changed", object_name=f"row {n}") for n in numbers)
    process = {"host": "here", "queue": "duel", "version": "1", "python": "3.11", "started_at": NOON, "seen_at": NOON}
    made(Worker(name=f"here:{n}", pid=n, **process) for n in numbers)
    analyze()


def grow_results(crowd: Crowd, size: int) -> tuple[list[int], list[User], list[Submission]]:
    """Add so many users, versions, duels, evaluations and finished editions; return numbers, users and versions."""
    numbers = [next(crowd.numbers) for _ in range(size)]
    people = made(User(username=f"person-{n}", email=f"person-{n}@arena.example", password="!") for n in numbers)
    rivals = versions(
        [Agent(environment=crowd.game, owner=people[k], name=f"rival-{n}") for k, n in enumerate(numbers)]
    )
    played(crowd, rivals, numbers)
    waiting = further_versions(crowd.hero.agent, numbers)
    made(Build(submission=row) for row in waiting[::2])
    ranked(crowd, people, numbers)
    ended = {"state": "FINISHED", "ended_at": NOON, "season": crowd.season}
    made(Tournament(environment=crowd.game, edition=n, **ended) for n in numbers)
    return numbers, people, rivals


def analyze() -> None:
    """Let the database count its rows, as it does sooner or later: plans for empty tables can take minutes with full
    ones."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def versions(agents: list[Agent]) -> list[Submission]:
    """An agent each with one version that may play."""
    made(agents)
    rows = made(
        Submission(agent=agent, number=1, archive="archives/a.zip", archive_sha256="0", archive_bytes=4, image="image")
        for agent in agents
    )
    phases(rows)
    return rows


def further_versions(agent: Agent, numbers: list[int]) -> list[Submission]:
    rows = made(
        Submission(agent=agent, number=n, archive="archives/a.zip", archive_sha256="0", archive_bytes=4, image="image")
        for n in numbers
    )
    phases(rows)
    return rows


def phases(rows: list[Submission]) -> None:
    version = rows[0].agent.environment.spec_id
    made(Build(submission=row, **ENDED) for row in rows)
    made(Validation(submission=row, environment_version=version, seed=1, match_count=4, **ENDED) for row in rows)
    made(Publication(submission=row, url="https://git.example/", **ENDED) for row in rows)


def played(crowd: Crowd, rivals: list[Submission], numbers: list[int]) -> None:
    """Duels of the hero against each: half of them won, one in ten struck; and one that waits of each."""
    common: dict[str, Any] = {
        "tournament": crowd.tournament, "round": 1, "seed": 1, "match_count": 10,
        "environment_version": crowd.game.spec_id,
    }  # fmt: skip
    won = {"outcome": "PLAYER_1", "player_1_wins": 10, "matches_done": 10, **ENDED}
    duels = made(
        Duel(player_1=crowd.hero, player_2=rival, number=2 * n, **common, **won)
        for n, rival in zip(numbers, rivals, strict=True)
    )
    asked = made(Challenge(user=crowd.hero.agent.owner, submission=crowd.hero, kind="AGENT") for _ in rivals)
    of_challenge = {"round": 1, "seed": 1, "match_count": 10, "environment_version": crowd.game.spec_id, **won}
    made(
        Duel(challenge=challenge, number=n, player_1=crowd.hero, player_2=rival, **of_challenge)
        for n, rival, row in zip(numbers, rivals, asked, strict=True)
        for challenge in (crowd.challenge, row)
    )
    runs = made(
        Run(caller=crowd.hero.agent.owner, key=f"run-{n}", player_1_name="a", player_2_name="b", expires_at=NOON)
        for n in numbers
    )
    made(
        Duel(run=run, number=n, player_1=crowd.hero, player_2=rival, **of_challenge)
        for n, rival, run in zip(numbers, rivals, runs, strict=True)
    )
    made(
        Duel(player_1=rival, player_2=crowd.hero, number=2 * n + 1, **common)
        for n, rival in zip(numbers, rivals, strict=True)
    )
    figures = {"wins": 10, "losses": 0, "draws": 0, "errors": 0, "opponent_errors": 0, "score": 10}
    made(LedgerEntry(duel=duel, submission=crowd.hero, opponent=duel.player_2, seat=0, **figures) for duel in duels)
    made(LedgerVoid(duel=duel, reason="The clock was wrong.", created_by=crowd.hero.agent.owner) for duel in duels[::5])
    blunders = [factories.blunder(crowd.hero, duel) for duel in duels]
    made(DrillMove(submission=crowd.hero, blunder=row, action=4, is_found=True) for row in blunders)
    made(Participant(tournament=crowd.tournament, submission=rival, losses=1, rank=3) for rival in rivals)
    rated = {"value": 1400, "low": 1350, "high": 1450, "live": 1420, "duel_count": 1, "match_count": 10}
    made(Rating(submission=rival, **rated) for rival in rivals)


def ranked(crowd: Crowd, people: list[User], numbers: list[int]) -> None:
    """Learners with a place on the board, the recorded episodes of these, further versions and seeds."""
    rows = versions(
        [Agent(environment=crowd.task, owner=people[k], name=f"learner-{n}") for k, n in enumerate(numbers)]
    )
    again = further_versions(crowd.learner.agent, numbers)
    scores = [(k, float(k), 9, 0.01) for k in range(1, EPISODES + 1)]
    common: dict[str, Any] = {
        "environment": crowd.task, "environment_version": crowd.task.spec_id,
        "seed_list": crowd.evaluation.seed_list, "score": 100.0, "score_low": 90.0, "score_high": 110.0,
        "episode_count": EPISODES, "episodes_done": EPISODES, "episodes": scores, **ENDED,
    }  # fmt: skip
    standing = [Evaluation(submission=row, agent=row.agent, is_current=True, **common) for row in rows]
    evaluations = made([*standing, *(Evaluation(submission=row, agent=row.agent, **common) for row in again)])
    made(Recording(evaluation=row, choice="BEST", episode_number=1, **ENDED) for row in evaluations)
    made(
        SeedList(environment=crowd.task, purpose="RANKING", seeds=[1], sha256="0", revealed_at=NOON - timedelta(days=n))
        for n in numbers
    )


def made(rows: Iterable[AnyRow]) -> list[AnyRow]:
    """The rows, stored in as few statements as can be."""
    new = list(rows)
    return list(type(new[0])._default_manager.bulk_create(new))
