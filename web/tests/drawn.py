"""A small organisers' tournament as its format has written it down, for tests of whatever shows one.

What the formats themselves write is tested in tests/test_tournament_pages.py, which may use them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.models import Environment, Participant, Submission, Tournament
from core.tournaments.plans import plan_save

Json = dict[str, Any]


def cup(players: Sequence[Submission], environment: Environment, *, edition: int, **fields: Any) -> Tournament:
    """A running one: a Swiss round of everybody, of which the first meeting is played, and a final that waits."""
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
    plan_save(tournament=tournament, drawing=standing(seeds))


def standing(players: Sequence[int], note: str = "Round 1: The arena could not play it.") -> Json:
    """players: ids of submissions."""
    pairs = list(zip(players[::2], players[1::2], strict=False))
    table = {
        "columns": ["Points", "Buchholz"],
        "rows": [
            {"participant": player, "rank": 1, "values": [2, 0.5], "notes": [note] if place == 0 else []}
            for place, player in enumerate(players)
        ],
    }
    final = meeting("W1.1", 1, 2, (None, None), decision=None)
    final["sources"] = [{"kind": "winner", "of": "swiss.1.1"}, {"kind": "seed", "of": "2"}]
    rounds = [meeting(f"swiss.1.{place}", place, 1, pair) for place, pair in enumerate(pairs, start=1)]
    return {
        "stages": [
            {"key": "swiss", "name": "Swiss", "kind": "swiss", "rounds": [rounds], "table": None},
            {"key": "final", "name": "Final", "kind": "bracket", "rounds": [[final]], "table": None},
        ],
        "table": table,
        "notes": [note],
        "round": 1,
    }


def meeting(
    key: str, number: int, round_number: int, players: tuple[int | None, int | None], decision: str | None = "Played."
) -> Json:
    return {
        "key": key,
        "number": number,
        "round": round_number,
        "players": list(players),
        "sources": [None, None],
        "duels": [],
        "points": [14, 6] if decision else [0, 0],
        "scores": [4.0, -4.0],
        "decision": decision,
        "winner": players[0] if decision else None,
    }
