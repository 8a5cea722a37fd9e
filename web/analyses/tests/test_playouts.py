"""Two agents play on from positions of a whole match: a graph, a bar and a table of what these are worth."""

from __future__ import annotations

from itertools import pairwise

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects
from pytest_django.fixtures import Settings

from arena_kit.ranking.scores import Interval
from core.duels.analyses import analysis_begin
from core.duels.challenges import challenge_follow
from core.duels.losses import losses_analyse, unexplained_loss_play_out
from core.duels.playouts import MATCHES, MOST_POSITIONS, chosen, playouts_begin, playouts_waiting
from core.duels.positions import positions_of
from core.duels.selectors import match_get
from core.jobs.states import OPEN
from core.models import Analysis, Blunder, Challenge, ChallengeKind, Duel, JobState, User
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.tests import played
from web.tests.arena import Stage, damage_match, staged

pytestmark = pytest.mark.django_db
ASKED = {"agent_1": "anna", "agent_2": "alma"}


@pytest.fixture
def page(stage: Stage, cast: Cast) -> str:
    """Return the address of a match of Tic-tac-toe; alice has a second agent, alma."""
    played.ready(factories.agent(cast.alice, stage.environment, "alma"))
    return f"/duels/{stage.duel.pk}/matches/1/"


def test_positions_of_a_match_are_played_out_on_request_once_and_shown_to_everybody(
    client: Client, page: str, stage: Stage, cast: Cast, visit: As
) -> None:
    assertContains(client.get(page), "Choose two agents")
    assert client.get(f"{page}playouts/new/").status_code == 302
    alice = visit(cast.alice)
    assertContains(alice.get(f"{page}playouts/new/"), "<option>alma</option>")

    asked = alice.post(f"{page}playouts/new/", ASKED)

    assertRedirects(asked, f"{page}#playouts", fetch_redirect_response=False)
    challenge = Challenge.objects.get()
    duels = list(challenge.duels.order_by("number"))
    record_plies = [one.ply for one in positions_of(stage.duel, 1) if not one.is_over]
    assert [duel.origin_ply for duel in duels] == record_plies[:MOST_POSITIONS]
    assert {duel.match_count for duel in duels} == {MATCHES}
    waiting = client.get(page)
    assertContains(waiting, f"0 of {len(duels)} positions are played out")
    assertNotContains(waiting, 'class="line"')
    assertContains(client.get(f"{page}playouts/"), 'id="playouts"')
    # Asked again it is not played again.
    alice.post(f"{page}playouts/new/", ASKED)
    assert Challenge.objects.get() == challenge

    for duel in duels:
        played.play(duel)
    assert client.get(f"{page}playouts/").headers["HX-Refresh"] == "true"
    shown = client.get(f"{page}?ply=2")
    for part in ('class="values"', 'class="value"', "With anna v1 and alma v1 the side of anna v1 won", "analysis.js"):
        assertContains(shown, part)
    view = shown.context["playouts"]
    assert len(view.marks) == len(duels) + 1
    assert all(row.low <= row.share <= row.high for row in view.rows)
    assert len(view.told) == shown.context["last"] + 1
    assert view.told[-1][1] == "The match is over."
    assertContains(client.get(f"/challenges/{challenge.pk}/"), f"alma v1 from {len(duels)} positions")
    assertContains(client.get(f"{page}from/2/"), f"/duels/{duels[2].pk}/")


def test_a_share_belongs_to_player_1_whatever_its_seat(client: Client, page: str, stage: Stage, visit: As) -> None:
    second = f"/duels/{stage.duel.pk}/matches/2/"
    visit(stage.anna.agent.owner).post(f"{second}playouts/new/", ASKED)
    for duel in Duel.objects.filter(challenge__kind=ChallengeKind.PLAYOUT):
        played.play(duel)
    rows = client.get(second).context["playouts"].rows
    # In match 2 player 1 has the second seat.
    assert all(row.share == pytest.approx(1 - row.playout.share.value) for row in rows)
    assert all(row.low == pytest.approx(1 - row.playout.share.high) for row in rows)


def test_a_clear_change_is_named_and_a_small_one_is_not(
    client: Client, page: str, stage: Stage, visit: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit(stage.anna.agent.owner).post(f"{page}playouts/new/", ASKED)
    duels = list(Duel.objects.filter(challenge__kind=ChallengeKind.PLAYOUT).order_by("number"))
    for duel in duels:
        played.play(duel)
    shares = [0.8, 0.75, 0.2, *[0.25] * 20]
    worth = {
        duel.pk: (Interval(share, share - 0.1, share + 0.1), 20) for duel, share in zip(duels, shares, strict=False)
    }
    monkeypatch.setattr("core.duels.playouts.worth_of", lambda duel: worth[duel.pk])

    shown = client.get(page)

    (swing,) = shown.context["playouts"].swings
    said = "Between the states 1 and 2 the side of berta v1 went from 25% to 80%, at the cost of anna v1."
    assert swing == (2, said)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"agent_1": "anna", "agent_2": "anna"}, "Choose two different agents"),
        ({"agent_1": "anna", "agent_2": "no one"}, "Choose two agents of this environment"),
        ({"agent_1": "a\x00nna", "agent_2": ""}, "Choose two agents of this environment"),
    ],
)
def test_what_cannot_be_played_is_refused(
    page: str, cast: Cast, visit: As, asked: dict[str, str], sentence: str
) -> None:
    refused = visit(cast.alice).post(f"{page}playouts/new/", asked)
    assert refused.status_code == 422
    assertContains(refused, sentence, status_code=422)
    assert not Challenge.objects.exists()


def test_every_position_counts_towards_the_duels_of_a_day(page: str, cast: Cast, visit: As, settings: Settings) -> None:
    settings.QUOTAS = settings.QUOTAS | {"challenges_per_day": 3}
    refused = visit(cast.alice).post(f"{page}playouts/new/", ASKED)
    assertContains(refused, "This analysis by playouts needs", status_code=429)
    assert not Duel.objects.filter(state__in=OPEN, challenge__isnull=False).exists()


def test_what_was_cancelled_is_not_shown_and_can_be_asked_for_again(
    client: Client, page: str, cast: Cast, visit: As
) -> None:
    alice = visit(cast.alice)
    alice.post(f"{page}playouts/new/", ASKED)
    alice.post(f"/challenges/{Challenge.objects.get().pk}/cancel/")
    assert not Duel.objects.filter(state=JobState.QUEUED, challenge__isnull=False).exists()
    assertContains(client.get(page), "Choose two agents")
    alice.post(f"{page}playouts/new/", ASKED)
    assert Challenge.objects.count() == 2


def test_a_long_match_has_positions_from_its_first_to_its_last_and_none_of_the_opening(cast: Cast) -> None:
    stage = staged(cast, factories.environment("pong"), 2)
    positions = positions_of(stage.duel, 1)
    plies = [one.ply for one in chosen(positions)]
    assert len(plies) == MOST_POSITIONS
    assert (plies[0], plies[-1]) == (0, positions[-2].ply)
    gaps = {after - before for before, after in pairwise(plies)}
    assert max(gaps) - min(gaps) <= 1
    damage_match(stage.duel, 1, opening_count=4)
    assert chosen(positions_of(stage.duel, 1))[0].ply == 2


def test_losses_in_games_without_a_solver_are_played_out_at_the_cost_of_the_arena(cast: Cast) -> None:
    stage = staged(cast, factories.environment("pong"), 2)
    User.objects.update(last_login=timezone.now())
    lost = [duel for duel in stage.tournament.duels.filter(state=JobState.SUCCEEDED) if duel.outcome != "DRAW"]
    assert lost

    made = losses_analyse(stage.tournament)

    assert not Analysis.objects.exists()
    challenges = list(Challenge.objects.filter(kind=ChallengeKind.PLAYOUT))
    assert made == len(challenges) == 1
    assert challenges[0].user.is_system
    duels = list(challenges[0].duels.all())
    assert 0 < len(duels) <= MOST_POSITIONS
    assert {(duel.player_1, duel.player_2) for duel in duels} == {(lost[0].player_1, lost[0].player_2)}
    assert losses_analyse(stage.tournament) == 0


def test_a_loss_that_the_solver_does_not_explain_is_played_out_for_an_agent_without_positions(
    stage: Stage, cast: Cast
) -> None:
    lost = stage.duel
    loser = (lost.player_2 if lost.outcome == "PLAYER_1" else lost.player_1).agent
    assert analysis_begin(user=loser.owner, played=lost, number=1)
    analysis = Analysis.objects.get()
    for stranger in (cast.charlie, cast.olga):
        analysis.asked_by = stranger
        assert not unexplained_loss_play_out(analysis)
    analysis.asked_by = loser.owner
    assert unexplained_loss_play_out(analysis)
    challenge = Challenge.objects.get(kind=ChallengeKind.PLAYOUT)
    assert challenge.user.is_system
    assert playouts_waiting(stage.environment) == 1
    Challenge.objects.all().delete()
    factories.blunder(loser.submissions.get(), lost)
    assert not unexplained_loss_play_out(analysis)


def test_the_clearest_fall_of_the_side_that_lost_is_kept_as_a_position(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = next(n for n in range(1, 61) if match_get(stage.duel, n)[0].outcome == "PLAYER_1")
    assert playouts_begin(duel=stage.duel, number=number)
    assert not playouts_begin(duel=stage.duel, number=number)
    challenge = Challenge.objects.get()
    duels = list(challenge.duels.order_by("number"))
    for duel in duels:
        played.play(duel)
    record, _ = match_get(stage.duel, number)
    seat = record.seats.index(1)
    own = [0.9, 0.9, 0.1, *[0.05] * 20]
    shares = own if seat == 0 else [1 - share for share in own]
    worth = {
        duel.pk: (Interval(share, share - 0.04, share + 0.04), 20) for duel, share in zip(duels, shares, strict=False)
    }
    monkeypatch.setattr("core.duels.playouts.worth_of", lambda duel: worth[duel.pk])

    assert challenge_follow(challenge.pk)

    kept = Blunder.objects.get()
    assert (kept.agent, kept.duel, kept.match_number) == (stage.berta.agent, stage.duel, number)
    assert (kept.before, kept.after) == pytest.approx((0.9, 0.1))
    assert kept.holding == []
    plies = [duel.origin_ply or 0 for duel in duels]
    assert plies[1] <= kept.ply < plies[2]
    assert kept.played == record.actions[len(kept.actions)]
