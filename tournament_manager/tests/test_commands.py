from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from core.editions.services import advance
from core.editions.tests.planned import begun, play_on
from core.editions.tests.samples import LATER, play_all, players, table
from core.models import Participant, Play, Rating, RatingPoint, RatingPool, Tournament, TournamentState
from core.ratings.services import FITTED, KEPT
from core.tests import factories

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


def test_starting_a_tournament_starts_an_edition() -> None:
    players(factories.environment(), 3)
    assert run("tournament", "start", "tic-tac-toe") == "Started Tic-tac-toe edition 1 with 3 duels.\n"
    assert Tournament.objects.get().duels.count() == 3


def test_a_tournament_is_started_without_openings() -> None:
    players(factories.environment("tic-tac-toe"), 3)
    run("tournament", "start", "tic-tac-toe", "--no-openings")
    assert {duel.environment_version for duel in Tournament.objects.get().duels.all()} == {"tic-tac-toe-v2-bare"}


def test_starting_a_tournament_says_why_not() -> None:
    with pytest.raises(CommandError, match=r"no environment 'chess'\. There are: none; run sync_environments\."):
        run("tournament", "start", "chess")
    factories.environment()
    with pytest.raises(CommandError, match=r"no environment 'chess'\. There are: tic-tac-toe\."):
        run("tournament", "start", "chess")
    with pytest.raises(CommandError, match="needs two agents"):
        run("tournament", "start", "tic-tac-toe")


@pytest.mark.slow
def test_recompute_restores_everything_from_the_ledger() -> None:
    environment = factories.environment()
    factories.task()
    players(environment, 3)
    advance(environment, now=LATER)
    tournament = Tournament.objects.get()
    play_all(tournament)
    advance(environment, now=LATER)
    before = table(tournament), list(Rating.objects.order_by("pk").values_list("submission", *FITTED))

    Participant.objects.update(rank=9, points=99, wins=0, draws=99, total_score=-1)
    Rating.objects.filter(rank=1).update(value=1, low=1)
    RatingPoint.objects.filter(rank__gt=1).update(value=1, low=1, rank=None, best_rank=None, worst_rank=None)
    said = "Tic-tac-toe: 1 edition recomputed; {} of tables, {} and {} of the past differed\n"
    assert run("recompute") == said.format("3 rows", "1 rating", "2 ratings")
    assert run("recompute") == said.format("0 rows", "0 ratings", "0 ratings")
    after = table(tournament), list(Rating.objects.order_by("pk").values_list("submission", *FITTED))
    assert after == before
    assert set(RatingPoint.objects.values_list("submission", *KEPT)) == set(
        Rating.objects.values_list("submission", *KEPT)
    )
    assert RatingPool.objects.get().environment == environment
    assert "differed" in run("recompute", "--skip-history", "--environment", "tic-tac-toe")
    with pytest.raises(CommandError, match="no environment 'cart-pole' that is ranked by duels"):
        run("recompute", "--environment", "cart-pole")


def test_recompute_shows_the_ratings_of_a_date_and_where_pages_show_others() -> None:
    environment = factories.environment()
    one, *_ = players(environment, 2)
    advance(environment, now=LATER)
    play_all(Tournament.objects.get())
    advance(environment, now=LATER)
    moment = RatingPoint.objects.latest("at").at
    rows = list(RatingPoint.objects.values_list("pk", *KEPT))

    title, _, first, second, end = run("recompute", "--as-of", moment.isoformat()).splitlines()
    assert title.endswith(" UTC: 2 agents, 1 duel")
    assert first.split()[0] == "1"
    assert first.split()[-2:] == str(one).split()
    assert "differs" not in first + second
    assert end.endswith("0 ratings differed")

    RatingPoint.objects.filter(rank=2).update(value=1490)
    _, _, first, second, end = run("recompute", "--as-of", moment.isoformat()).splitlines()
    assert ("differs" in first, second.endswith("(differs)"), end.endswith("1 rating differed")) == (False, True, True)
    assert " 1490 " in second
    RatingPoint.objects.filter(rank=2).update(value=rows[1][1])
    assert list(RatingPoint.objects.values_list("pk", *KEPT)) == rows

    said = "Tic-tac-toe as of 2020-01-31 23:59:59 UTC: nothing had been played.\n"
    assert run("recompute", "--as-of", "2020-01-31") == said
    with pytest.raises(CommandError, match="Write a day as 2026-05-31"):
        run("recompute", "--as-of", "last week")


@pytest.mark.slow
def test_void_round_has_a_round_played_again_and_says_why_not() -> None:
    tournament = begun(players(factories.environment(), 4))
    play_on(tournament)
    assert run("tournament", "void-round", "tic-tac-toe", "1", "2", "--reason", "The clock was wrong.") == (
        "Tic-tac-toe: Cup: round 2 is void, 2 duels in all. It is played again.\n"
    )
    with pytest.raises(CommandError, match="Round 7 was not drawn"):
        run("tournament", "void-round", "tic-tac-toe", "1", "7", "--reason", "Again.")
    with pytest.raises(CommandError, match="has no edition 9: the last one is 1"):
        run("tournament", "void-round", "tic-tac-toe", "9", "1", "--reason", "Again.")
    with pytest.raises(CommandError, match="Give a reason"):
        run("tournament", "void-round", "tic-tac-toe", "1", "1", "--reason", " ")


def test_an_organiser_changes_and_ends_a_ladder_from_the_command_line() -> None:
    environment = factories.environment()
    environment.play = Play.LADDER
    environment.save()
    with pytest.raises(CommandError, match=r"plays no ladder now\. The ladder begins as soon as"):
        run("tournament", "ladder", "tic-tac-toe")
    for number in range(2):
        factories.ready(factories.agent(factories.user(f"rival-{number}"), environment))
    advance(environment, now=LATER)
    said = run(
        "tournament",
        "ladder",
        "tic-tac-toe",
        "--set",
        "pair_cap=50",
        "--set",
        "noise=0.1",
        "--ends-at",
        "2999-12-24T18:00",
    )
    assert said == (
        "Tic-tac-toe ladder, edition 1: 2 agents, 0 duels played, 1 waiting, until 2999-12-24 18:00 UTC.\n"
        "pair_cap=50 cap_days=30 new_below=20 longest_wait=10 noise=0.1 order_share=0.5\n"
    )
    for wrong, sentence in (
        (("--set", "pair_cap"), "write e.g. pair_cap=50"),
        (("--set", "noise=11"), "noise is 11; make it a number from 0 to 10"),
        (("--ends-at", "soon"), "'soon' is not a time"),
    ):
        with pytest.raises(CommandError, match=sentence):
            run("tournament", "ladder", "tic-tac-toe", *wrong)
    assert "ends within seconds" in run("tournament", "ladder", "tic-tac-toe", "--end")
    environment.refresh_from_db()
    advance(environment, now=LATER)
    assert Tournament.objects.get().state == TournamentState.FINISHED
