"""The duels of chosen pairs, in editions and ladders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import Max

from arena_kit.ranking.matchmaking import Pairing
from core.duels.seeds import duel_seed
from core.duels.services import duel_new, duels_enqueue
from core.duels.stopping import duel_test
from core.models import Submission, Tournament


def pairings_play(
    *,
    tournament: Tournament,
    pairings: Sequence[Pairing],
    players: Mapping[int, Submission],
    met: Mapping[frozenset[int], int],
    round: int = 1,  # noqa: A002  (the row's word; nothing is rounded here)
    period: str = "",
) -> None:
    """Put one duel for each pair in line, numbered after the existing ones. The caller holds the tournament's row.

    players: the submissions by key. met: how often two have met in the tournament, or in the period. period: see
    `duel_seed`.
    """
    environment = tournament.environment
    test = duel_test(environment=environment, match_count=environment.matches_per_duel)
    last = tournament.duels.aggregate(last=Max("number"))["last"] or 0
    duels_enqueue(
        duels=[
            duel_new(
                tournament=tournament,
                number=number,
                round=round,
                player_1=players[pairing.player_1],
                player_2=players[pairing.player_2],
                seed=duel_seed(
                    environment_version=environment.spec_id,
                    tournament_seed=tournament.seed,
                    own=tournament.seed + number,
                    encounter=met.get(frozenset((pairing.player_1, pairing.player_2)), 0),
                    period=period,
                ),
                match_count=environment.matches_per_duel,
                expected=pairing.expected,
                reason=pairing.because,
                test=test,
            )
            for number, pairing in enumerate(pairings, start=last + 1)
        ]
    )
