"""Fills an arena with a long history for `benchmarks.standings`. Needs Django and PostgreSQL.

Apart from people and agents, the database creates all rows itself: the arena's own code creates one row as a pattern,
and `generate_series` multiplies it.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import django

from arena_kit.environment.records import DuelRecord, MatchRecord, Outcome
from benchmarks.load.rows import _people, _submissions

if TYPE_CHECKING:
    from django.db.models import Model

    from core.models import Duel, Environment, Submission, Tournament

GAME = "tic-tac-toe"
PER_EDITION = 1_000
"""Number of duels of a finished edition."""
EVERY = timedelta(minutes=5)
"""Time between two duels, so that a longer history reaches further back."""
STRIDE = 797
"""A prime by which the distance between the two players of a duel grows."""
ROWS_PER_DUEL = 4
"""Ledger rows of a duel: two players in two seats each."""


@dataclass(frozen=True, slots=True)
class Arena:
    """An environment with its players and its running ladder."""

    environment: Environment
    players: list[Submission]
    ladder: Tournament


def fill(*, agents: int, rows: int) -> Arena:
    """Migrate and fill an empty database: half of the ledger's rows in finished editions, half in one ladder."""
    django.setup()
    from django.core.management import call_command
    from django.utils import timezone

    from core.models import LADDER, Environment, LedgerChange, Play, Tournament, TournamentState
    from core.ratings.ledger import ledger_adopt, ledger_change

    for command in (["migrate", "--no-input"], ["sync_environments"], ["collectstatic", "--no-input"]):
        call_command(*command, verbosity=0, stdout=io.StringIO())
    environment = Environment.objects.get(slug=GAME)
    environment.matches_per_duel, environment.play, environment.active_per_owner = 2, Play.LADDER, 0
    environment.save()
    players = _submissions(_people(agents), environment, agents)
    duels = max(2, rows // ROWS_PER_DUEL)
    now = timezone.now()
    begun = now - duels * EVERY
    first = duels // 2
    edition = 0
    for start in range(0, first, PER_EDITION):
        edition += 1
        count = min(PER_EDITION, first - start)
        ended = begun + (start + count) * EVERY
        row = Tournament.objects.create(
            environment=environment, edition=edition, state=TournamentState.FINISHED, started_at=begun, ended_at=ended
        )
        _play(row, players, count, begun + start * EVERY)
    ladder = Tournament.objects.create(
        environment=environment, edition=edition + 1, format=LADDER, started_at=begun + first * EVERY
    )
    _play(ladder, players, duels - first, begun + first * EVERY)
    # Results that SQL has inserted have no version yet, and count for no live rating.
    ledger_adopt(environment_id=environment.pk)
    ledger_change(environment_id=environment.pk, kind=LedgerChange.Kind.RECOMPUTE)
    analyse()
    return Arena(environment, players, ladder)


def _play(tournament: Tournament, players: Sequence[Submission], count: int, begun: Any) -> None:
    """Create a tournament's participants, duels and ledger entries; the player with the lower number mostly wins."""
    from django.db import connection

    from core.models import Duel, LedgerEntry, Participant

    Participant.objects.bulk_create(Participant(tournament=tournament, submission=row) for row in players)
    keys = [row.pk for row in players]
    pattern = Duel(
        tournament=tournament, number=1, round=1, player_1=players[0], player_2=players[1],
        environment_version=tournament.environment.spec_id, seed=1, match_count=2, matches_done=2, state="SUCCEEDED",
        attempt=1, worker="worker-1", expected=0.5,
    )  # fmt: skip
    # Every pair meets once before any pair meets again, and each agent soon meets others of all strengths: neighbours
    # alone would not order a large field. mod() is used because % would mark a parameter.
    size, first = len(keys), f"mod(n, {len(keys)})"
    second = f"mod(n + 1 + mod(n / {size} * {STRIDE}, {size - 1}), {size})"
    places = {"player_1_id": f"(%(keys)s)[1 + {first}]", "player_2_id": f"(%(keys)s)[1 + {second}]"}
    # One of seven duels is a draw, and one is an upset.
    outcome = (
        f"CASE WHEN mod(n, 7) = 0 THEN 'DRAW' WHEN ({first} < {second}) <> (mod(n, 7) = 3) THEN 'PLAYER_1' "
        "ELSE 'PLAYER_2' END"
    )
    said = {
        **places,
        "number": "n + 1",
        "round": f"1 + n / {max(1, size // 2)}",
        "outcome": outcome,
        **{f"player_{side}_wins": f"CASE {outcome} WHEN 'PLAYER_{side}' THEN 2 ELSE 0 END" for side in (1, 2)},
        "draws": f"CASE {outcome} WHEN 'DRAW' THEN 2 ELSE 0 END",
        "created_at": "%(begun)s + n * %(every)s",
        "started_at": "%(begun)s + n * %(every)s",
        "ended_at": "%(begun)s + (n + 1) * %(every)s",
    }
    columns = _columns(pattern, said)
    named = {"keys": keys, "begun": begun, "every": EVERY, "last": count - 1}
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO core_duel ({', '.join(columns)}) SELECT {', '.join(columns.values())} "
            "FROM generate_series(0, %(last)s) AS n",
            named | _values(pattern),
        )
        entry = LedgerEntry(duel=pattern, submission=players[0], opponent=players[1], seat=0)
        for side, rival in ((1, 2), (2, 1)):
            said = {
                "duel_id": "d.id", "submission_id": f"d.player_{side}_id", "opponent_id": f"d.player_{rival}_id",
                "seat": "seat", "wins": f"d.player_{side}_wins / 2", "losses": f"d.player_{rival}_wins / 2",
                "draws": "CASE d.outcome WHEN 'DRAW' THEN 1 ELSE 0 END", "errors": "0", "opponent_errors": "0",
                "score": f"(d.player_{side}_wins - d.player_{rival}_wins) / 2.0", "created_at": "d.ended_at",
            }  # fmt: skip
            columns = _columns(entry, said)
            cursor.execute(
                f"INSERT INTO core_ledgerentry ({', '.join(columns)}) SELECT {', '.join(columns.values())} "
                "FROM core_duel AS d, generate_series(0, 1) AS seat WHERE d.tournament_id = %(tournament)s "
                "ORDER BY d.id, seat",
                {"tournament": tournament.pk} | _values(entry),
            )


def _columns(pattern: Model, said: Mapping[str, str]) -> dict[str, str]:
    """Return the value of each column: the one given, otherwise that of the pattern."""
    fields = [field for field in pattern._meta.concrete_fields if not field.primary_key]
    return {str(field.column): said.get(str(field.column), f"%(of_{field.column})s") for field in fields}


def _values(pattern: Model) -> dict[str, Any]:
    from django.db import connection

    return {
        f"of_{field.column}": field.get_db_prep_save(field.pre_save(pattern, add=True), connection)
        for field in pattern._meta.concrete_fields
        if not field.primary_key
    }


def analyse() -> None:
    """Do what the database's own daemon would do within minutes."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def record_of(duel: Duel, outcome: Outcome) -> DuelRecord:
    """Return the record of two matches with swapped seats and the same winner."""
    scores = {Outcome.PLAYER_1: (1.0, -1.0), Outcome.PLAYER_2: (-1.0, 1.0), Outcome.DRAW: (0.0, 0.0)}[outcome]
    matches = tuple(
        MatchRecord(number=number, seed=number, seats=seats, actions=(), outcome=outcome, scores=scores)
        for number, seats in enumerate(((0, 1), (1, 0)), start=1)
    )
    return DuelRecord(duel.environment_version, duel.seed, ("one", "two"), matches)
