"""A season of rows for `benchmarks.site`: agents, editions, duels, ledger, ratings and a board. Needs Django.

The arena's own code computes every figure: a duel's columns and ledger entries from matches played here, standings and
ratings from the ledger. Only a share of the duels has a file of records; the others look as after retention.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import django

from arena_kit.environment.records import DuelRecord, MatchRecord, Outcome
from benchmarks.load.growth import grow

if TYPE_CHECKING:
    from core.models import Duel, Environment, Submission, User

GAME, TASK = "connect-four", "cart-pole"
MATCHES_PER_DUEL = 10
EPISODES = 20
UPLOADERS = 8
BATCH = 1000
FILLED = 100_000
"""Matches above which the rest are copies by SQL."""
SWAPPED = {Outcome.PLAYER_1: Outcome.PLAYER_2, Outcome.PLAYER_2: Outcome.PLAYER_1}


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the season. matches: of all editions together; copies of these follow after FILLED.

    recorded: duels with a file of records.
    plays: duels that are really played here; all others repeat them.
    """

    agents: int
    editions: int
    matches: int
    plays: int
    recorded: int


class Chance:
    """A player that takes any valid action."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def start(self, state: Any, valid_actions: Any) -> Any:
        return self._random.choice(valid_actions)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any:
        return self._random.choice(valid_actions)

    def end(self, state: Any, prev_reward: float) -> None:
        pass


def fill(size: Size) -> dict[str, Any]:
    """Migrate and fill an empty database, collect static files; return what `visiting` returns."""
    django.setup()
    from django.core.management import call_command

    for command in (["migrate", "--no-input"], ["sync_environments"], ["collectstatic", "--no-input"]):
        call_command(*command, verbosity=0, stdout=io.StringIO())
    owners = _people(max(UPLOADERS, size.agents // 2))
    copies = max(0, size.matches // FILLED - 1)
    submissions = _game(owners, replace(size, matches=FILLED) if copies else size)
    _task(owners, size)
    if copies:
        grow(copies)
    _analyse()
    return visiting(submissions)


def _people(count: int) -> list[User]:
    from core.models import User

    return User.objects.bulk_create(
        User(username=f"user-{n}", email=f"user-{n}@arena.example", team=f"team-{n % 12}", password="!")
        for n in range(1, count + 1)
    )


def _submissions(owners: Sequence[User], environment: Environment, count: int, name: str = "agent") -> list[Submission]:
    """Create an agent per owner, with a built and validated version."""
    from core.models import Agent, Build, Submission, Validation

    agents = Agent.objects.bulk_create(
        Agent(environment=environment, owner=owners[n % len(owners)], name=f"{name}-{n + 1}", is_public=n % 2 == 0)
        for n in range(count)
    )
    rows = Submission.objects.bulk_create(
        Submission(agent=agent, number=1, archive=f"archives/{uuid4()}.zip", archive_sha256="0" * 64,
                   archive_bytes=4000, image="rl-arena-player:none", algorithm=("DQN", "PPO", "search")[agent.pk % 3])
        for agent in agents
    )  # fmt: skip
    Build.objects.bulk_create(Build(submission=row, **_over()) for row in rows)
    Validation.objects.bulk_create(
        Validation(submission=row, environment_version=environment.spec_id, seed=7, match_count=50, **_over())
        for row in rows
    )
    return rows


def _over() -> dict[str, Any]:
    """Return the columns of a job that has succeeded."""
    from django.utils import timezone

    now = timezone.now()
    return {
        "state": "SUCCEEDED", "attempt": 1, "worker": "worker-1", "started_at": now - timedelta(seconds=3),
        "ended_at": now,
    }  # fmt: skip


def _game(owners: Sequence[User], size: Size) -> list[Submission]:
    """Create all editions of the game, one after the other."""
    from core.models import Environment

    environment = Environment.objects.get(slug=GAME)
    environment.matches_per_duel = MATCHES_PER_DUEL
    environment.save()
    submissions = _submissions(owners, environment, size.agents)
    plays = [_play(environment.spec_id, number) for number in range(size.plays)]
    every = max(1, size.matches // MATCHES_PER_DUEL // size.recorded)
    for edition in range(1, size.editions + 1):
        _edition(environment, edition, submissions, plays, size.matches // size.editions // MATCHES_PER_DUEL, every)
    return submissions


def _edition(
    environment: Environment, number: int, submissions: Sequence[Submission], plays: Sequence[DuelRecord], duels: int,
    every: int,
) -> None:  # fmt: skip
    """Create an edition with this many duels, one in `every` with records, and end it as the arena does."""
    from arena_kit.environment.records import record_sha256
    from arena_kit.ranking.pairing import round_robin
    from core.duels.services import ledger_entries, result_fields
    from core.editions.services import finish
    from core.models import Duel, LedgerEntry, Participant, Tournament
    from core.ratings.ledger import ledger_adopt

    tournament = Tournament.objects.create(environment=environment, edition=number)
    Participant.objects.bulk_create(Participant(tournament=tournament, submission=row) for row in submissions)
    rounds = round_robin(len(submissions))
    first = number * (1 + duels * 2 // len(submissions))
    pairs = [
        (turn + 1, *pair) for turn in range(len(rounds)) for pair in rounds[(first + turn) % len(rounds)]
    ][:duels]  # fmt: skip
    chance = random.Random(number)
    rows: list[tuple[Duel, DuelRecord]] = []
    for place, (turn, one, other) in enumerate(pairs, start=1):
        play = _likely(chance, plays, is_first_stronger=one < other)
        record = replace(play, players=(str(submissions[one]), str(submissions[other])))
        duel = Duel(
            tournament=tournament, number=place, round=turn, player_1=submissions[one], player_2=submissions[other],
            environment_version=record.environment, seed=record.seed, match_count=len(record.matches),
            matches_done=len(record.matches), record_sha256=record_sha256(record), **result_fields(record.summary),
            **_over(),
        )  # fmt: skip
        rows.append((duel, record))
    Duel.objects.bulk_create((duel for duel, _ in rows), batch_size=BATCH)
    LedgerEntry.objects.bulk_create(
        (entry for duel, record in rows for entry in ledger_entries(duel, record)), batch_size=BATCH
    )
    # Entries that were created in bulk have no version yet.
    ledger_adopt(environment_id=environment.pk)
    for duel, record in rows[every - 1 :: every]:
        _store(duel, record)
    finish(tournament)


def _likely(chance: random.Random, plays: Sequence[DuelRecord], *, is_first_stronger: bool) -> DuelRecord:
    """Return a play that the stronger one tends to win, so that ratings differ."""
    for _ in range(3):
        play = chance.choice(plays)
        if play.summary.outcome == (Outcome.PLAYER_1 if is_first_stronger else Outcome.PLAYER_2):
            break
    return play


def _store(duel: Duel, record: DuelRecord) -> None:
    from core.jobs.artifacts import artifacts_stored

    with artifacts_stored(job=duel, record=record, player_logs=("", ""), digests=("", "")) as artifacts:
        for name, value in asdict(artifacts).items():
            setattr(duel, name, value)
        duel.save(update_fields=list(asdict(artifacts)))


def _play(spec_id: str, number: int) -> DuelRecord:
    """Return a duel between two random players, as the referee plays it: seats alternate, pairs share a seed."""
    from arena_kit.environment.registry import get_spec

    matches = tuple(play_match(spec_id, 1000 + number, place) for place in range(1, MATCHES_PER_DUEL + 1))
    return DuelRecord(get_spec(spec_id).id, 1000 + number, ("one", "two"), matches)


def play_match(spec_id: str, seed: int, number: int) -> MatchRecord:
    from arena_kit.environment.registry import get_spec
    from arena_kit.referee.match import pair_seed
    from arena_kit.referee.play import run_match

    players = [Chance(seed * 100 + 2 * number + seat) for seat in (0, 1)]
    match = run_match(get_spec(spec_id), players, pair_seed(seed, (number - 1) // 2), number=number)
    if number % 2:
        return match
    return replace(
        match, seats=(1, 0), outcome=SWAPPED.get(match.outcome, match.outcome), scores=match.scores[::-1],
        move_counts=match.move_counts[::-1],
    )  # fmt: skip


def _task(owners: Sequence[User], size: Size) -> None:
    """Create a board with half as many agents as the game has."""
    from arena_kit.ranking.scores import summarise_scores
    from core.evaluations.selectors import ranking_list
    from core.models import Environment, Evaluation

    environment = Environment.objects.get(slug=TASK)
    seeds = ranking_list(environment)
    chance = random.Random(1)
    rows = []
    for submission in _submissions(owners, environment, size.agents // 2):
        strength = chance.uniform(20, 450)
        scores = [round(chance.gauss(strength, 30), 1) for _ in range(EPISODES)]
        summary = summarise_scores(scores)
        rows.append(
            Evaluation(
                submission=submission, agent=submission.agent, environment=environment, seed_list=seeds,
                environment_version=environment.spec_id, is_current=True, episode_count=EPISODES,
                episodes_done=EPISODES, score=summary.mean.value, score_low=summary.mean.low,
                score_high=summary.mean.high, median=summary.median, interquartile_mean=summary.interquartile_mean,
                worst_decile=summary.worst_decile, seconds_per_move=0.0005, runtime="gymnasium 1.3.0",
                episodes=[[n, score, int(score), 0.1] for n, score in enumerate(scores, 1)], **_over(),
            )
        )  # fmt: skip
    Evaluation.objects.bulk_create(rows)


def _analyse() -> None:
    """Do what the database's own daemon would do within minutes."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def visiting(submissions: Sequence[Submission]) -> dict[str, Any]:
    """Return what visitors need: `pages` (lists of paths by kind), `cookie` of a person, `uploads` (token and path)."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore
    from django.middleware.csrf import CSRF_SECRET_LENGTH
    from django.utils import timezone
    from django.utils.crypto import get_random_string

    from core.people.tokens import token_create

    uploads = []
    for row in submissions[:UPLOADERS]:
        token = token_create(owner=row.agent.owner, name="bench", now=timezone.now(), days=365)[1]
        uploads.append({"token": token, "path": f"/api/v1/agents/{row.agent_id}/submissions/"})
    person, session = submissions[0].agent.owner, SessionStore()
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(person.pk), person.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    session.save()
    csrf = get_random_string(CSRF_SECRET_LENGTH)
    return {
        "pages": _pages(submissions),
        # Browsers send both: pages with forms are kept for the reader whose forms they are.
        "cookie": f"{settings.SESSION_COOKIE_NAME}={session.session_key}; {settings.CSRF_COOKIE_NAME}={csrf}",
        "uploads": uploads,
    }


def _pages(submissions: Sequence[Submission]) -> dict[str, list[str]]:
    from core.models import Duel, Evaluation, Tournament
    from web.api.listing import MOST_SKIPPED, Pages

    editions = list(Tournament.objects.order_by("pk"))
    played = list(Duel.objects.exclude(records="").order_by("pk").values_list("pk", flat=True)[:200])
    evaluations = Evaluation.objects.order_by("pk").values_list("pk", flat=True)[:50]
    game, api = f"/environments/{GAME}/", "/api/v1/"
    some, users = submissions[::4], {row.agent.owner.username for row in submissions[:100]}

    def each(pattern: str, values: Iterable[object]) -> list[str]:
        return [pattern.format(value) for value in values]

    def last(rows: int) -> int:
        return max(1, min(rows, MOST_SKIPPED) // Pages.page_size)

    return {
        "home": ["/"],
        "game": [game],
        "home, logged in": ["/"],
        "game, logged in": [game],
        "edition, logged in": [f"{game}editions/{editions[-1].edition}/"],
        "own agent, logged in": [f"{game}agents/{submissions[0].agent.name}/"],
        "another's agent, logged in": [f"{game}agents/{submissions[1].agent.name}/"],
        "duel, logged in": each("/duels/{}/", played[:20]),
        "match, logged in": each("/duels/{}/matches/2/", played[:20]),
        "edition": each(f"{game}editions/{{}}/", (row.edition for row in editions)),
        "agent in an edition": [
            f"{game}editions/{row.edition}/agents/{player.agent.name}/" for row in editions for player in some[::4]
        ],
        "agent": each(f"{game}agents/{{}}/", (row.agent.name for row in some)),
        "person": each("/users/{}/", sorted(users)),
        "board": [f"/environments/{TASK}/", f"/environments/{TASK}/?page=2"],
        "evaluation": each("/evaluations/{}/", evaluations),
        "duel": each("/duels/{}/", played),
        "match replay": each("/duels/{}/matches/2/", played),
        "match frames": each("/duels/{}/matches/2/frames.json", played),
        "API environments": [f"{api}environments/"],
        "API board": [f"{api}environments/{TASK}/board/"],
        "API agents": [f"{api}agents/", f"{api}agents/?environment={GAME}&page={last(len(submissions))}"],
        "API editions": [f"{api}tournaments/"],
        "API participants": each(f"{api}tournaments/{{}}/participants/", (row.pk for row in editions)),
        "API ratings": [f"{api}ratings/"],
        "API duels": [
            f"{api}duels/",
            f"{api}duels/?page={last(Duel.objects.count())}",
            f"{api}duels/?environment={GAME}&state=SUCCEEDED",
        ],
        "API duels of an agent": each(f"{api}duels/?agent={{}}", (row.agent_id for row in some)),
        "API match": each(f"{api}duels/{{}}/matches/3/", played),
        "API replay": each(f"{api}duels/{{}}/matches/3/replay/", played),
        "API leaderboard": ["/api/leaderboard/"],
    }
