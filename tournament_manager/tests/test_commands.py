from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from core.models import Participant, Rating, Tournament
from core.tests import factories
from tournament_manager.editions import advance
from tournament_manager.tests.samples import LATER, play_all, players, table

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


def test_run_tournament_starts_an_edition() -> None:
    players(factories.environment(), 3)
    assert run("run_tournament", "tic-tac-toe") == "Started Tic-tac-toe edition 1 with 3 duels.\n"
    assert Tournament.objects.get().duels.count() == 3


def test_run_tournament_says_why_not() -> None:
    with pytest.raises(CommandError, match=r"no environment 'chess'\. There are: none; run sync_environments\."):
        run("run_tournament", "chess")
    factories.environment()
    with pytest.raises(CommandError, match=r"no environment 'chess'\. There are: tic-tac-toe\."):
        run("run_tournament", "chess")
    with pytest.raises(CommandError, match="needs two agents"):
        run("run_tournament", "tic-tac-toe")


def test_recompute_restores_everything_from_the_ledger() -> None:
    environment = factories.environment()
    players(environment, 3)
    advance(environment, now=LATER)
    tournament = Tournament.objects.get()
    play_all(tournament)
    advance(environment, now=LATER)
    before = table(tournament), list(Rating.objects.order_by("pk").values_list("submission", "value", "duel_count"))

    Participant.objects.update(rank=9, points=99, wins=0, draws=99, total_score=-1)
    Rating.objects.update(value=1)
    assert run("recompute") == "Tic-tac-toe: 1 editions recomputed\n"
    after = table(tournament), list(Rating.objects.order_by("pk").values_list("submission", "value", "duel_count"))
    assert after == before
