"""Rock, paper and scissors as rows: results that no single ranking can express, for tests of lenses."""

from __future__ import annotations

from dataclasses import dataclass

from core.models import Duel, Environment, JobState, LedgerChange, LedgerEntry, PairTotal, Submission, Tournament
from core.ratings.ledger import ledger_adopt, ledger_change
from core.tests import factories
from core.tests.factories import Cast


@dataclass(frozen=True, slots=True)
class Circle:
    """Each wins 36 of 40 matches against the one named before it, in four duels; novice has only lost to rock."""

    tournament: Tournament
    rock: Submission
    paper: Submission
    scissors: Submission
    novice: Submission


def circle(cast: Cast, environment: Environment) -> Circle:
    """The rows, without ratings. The winner of each duel was expected to take 0.6 of the points, before novice 0.9."""
    owners = {"rock": cast.alice, "paper": cast.bob, "scissors": cast.charlie, "novice": cast.charlie}
    rows = {name: factories.ready(factories.agent(owner, environment, name)) for name, owner in owners.items()}
    tournament = Tournament.objects.create(
        environment=environment, edition=1, state="FINISHED", ended_at=factories.NOON
    )
    for row in rows.values():
        tournament.participants.create(submission=row)
    number = 0
    for winner, loser in (("paper", "rock"), ("scissors", "paper"), ("rock", "scissors"), ("rock", "novice")):
        for _ in range(4):
            number += 1
            beaten(tournament, rows[winner], rows[loser], number, expected=0.9 if loser == "novice" else 0.6)
    return Circle(tournament, **rows)


def beaten(tournament: Tournament, winner: Submission, loser: Submission, number: int, *, expected: float) -> Duel:
    """A duel of nine to one, with its ledger entries."""
    duel = factories.duel(tournament, winner, loser, number=number, state=JobState.SUCCEEDED)
    Duel.objects.filter(pk=duel.pk).update(expected=expected, player_1_wins=9, player_2_wins=1)
    nothing = {"draws": 0, "errors": 0, "opponent_errors": 0}
    LedgerEntry.objects.create(
        duel=duel, submission=winner, opponent=loser, seat=0, wins=9, losses=1, score=8, **nothing
    )
    LedgerEntry.objects.create(
        duel=duel, submission=loser, opponent=winner, seat=1, wins=1, losses=9, score=-8, **nothing
    )
    pair, _ = PairTotal.objects.get_or_create(environment=tournament.environment, first=winner, second=loser)
    figures = {"wins": pair.wins + 9, "losses": pair.losses + 1, "duel_count": pair.duel_count + 1}
    PairTotal.objects.filter(pk=pair.pk).update(latest_duel=duel.pk, **figures)
    ledger_adopt(environment_id=tournament.environment_id)
    ledger_change(environment_id=tournament.environment_id, kind=LedgerChange.Kind.RECOMPUTE)
    return duel
