"""A small organisers' tournament as its format has written it down, for tests of whatever shows one.

What the formats themselves write is tested in tests/test_tournament_pages.py, which may use them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena_kit.ranking.formats import (
    CountedDuel,
    Decision,
    Meeting,
    Plan,
    Row,
    Source,
    Stage,
    StageKind,
    Table,
)
from core.models import Environment, Participant, Submission, Tournament
from core.tournaments.plans import plan_save


def cup(players: Sequence[Submission], environment: Environment, *, edition: int, **fields: Any) -> Tournament:
    """A running one: a Swiss round of all players, of which the first meeting is played, and a final that waits."""
    tournament = Tournament.objects.create(
        environment=environment,
        edition=edition,
        **{"name": "Winter Cup", "format": "swiss", "settings": {"pairs": 5}, "is_automatic": False, **fields},
    )
    add(tournament, players)
    return tournament


def add(tournament: Tournament, players: Sequence[Submission]) -> None:
    """Have these take part, and draw it anew."""
    first = tournament.participants.count() + 1
    Participant.objects.bulk_create(
        Participant(tournament=tournament, submission=player, seeding=place)
        for place, player in enumerate(players, start=first)
    )
    seeds = list(tournament.participants.order_by("seeding").values_list("submission", flat=True))
    plan_save(tournament=tournament, planned=standing(seeds))


def standing(players: Sequence[int], note: str = "Round 1: The arena could not play this meeting.") -> Plan:
    """players: ids of submissions."""
    pairs = list(zip(players[::2], players[1::2], strict=False))
    rows = [Row(player, 1, (2, 0.5), (note,) if place == 0 else ()) for place, player in enumerate(players)]
    final = Meeting("W1.1", 2, 1, (None, None), (Source("winner", "swiss.1.1"), Source("seed", "2")))
    played = tuple(
        Meeting(
            f"swiss.1.{place}", 1, place, pair, decision=Decision.PLAYED, winner=pair[0], points=(14, 6),
            scores=(4.0, -4.0),
        )
        for place, pair in enumerate(pairs, start=1)
    )  # fmt: skip
    return Plan(
        stages=(
            Stage("swiss", "Swiss", StageKind.SWISS, (played,)),
            Stage("final", "Final", StageKind.BRACKET, ((final,),)),
        ),
        table=Table(("Points", "Buchholz"), tuple(rows)),
        notes=(note,),
        waiting=(CountedDuel(key=1, round=1, players=(players[0], players[-1])),),
    )
