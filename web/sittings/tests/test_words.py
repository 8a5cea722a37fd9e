"""What an open sitting says of its moves: the words of the game, as the pages of matches do."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.asserts import assertContains

from core.models import Opponents, Sitting, SittingMove, User
from core.sittings.services import opponents_set
from core.tests import factories
from core.tests.factories import Cast

pytestmark = pytest.mark.django_db


def sit(client: Client, owner: User, game: str) -> str:
    """Sit down first in a game; return the address of the board."""
    row = factories.ready(factories.agent(owner, factories.environment(game), "anna"))
    opponents_set(agent=row.agent, opponents=Opponents.EVERYONE)
    return str(client.post(f"/environments/{game}/agents/anna/sit/", {"seat": "first"})["Location"])


def answer(step: int, action: int) -> None:
    SittingMove.objects.create(sitting=Sitting.objects.get(), step=step, seat=1, action=action)


def test_moves_and_choices_of_quarto_are_cells_and_pieces(client: Client, cast: Cast) -> None:
    page = sit(client, cast.alice, "quarto")
    assertContains(client.get(page), "Cell c2")
    assertContains(client.get(f"{page}?first=6"), "small dark solid square")
    # The piece in hand is 15 at the start; it goes to cell 6, and piece 1 is handed over.
    client.post(f"{page}move/", {"step": 0, "action": 16 * 6 + 1})
    answer(1, 16 * 15 + 2)

    shown = client.get(page)

    assertContains(shown, "You played the large dark hollow round on c2, handing over the small dark solid square")
    last = "anna v1 played the small dark solid square on d4, handing over the small light solid round"
    assertContains(shown, f"{last}. Your turn.")


def test_a_move_of_tic_tac_toe_and_of_a_game_without_words(client: Client, cast: Cast) -> None:
    page = sit(client, cast.alice, "tic-tac-toe")
    client.post(f"{page}move/", {"step": 0, "action": 4})
    assertContains(client.get(page), "You played centre")
    client.post(f"{page}resign/")

    page = sit(client, cast.alice, "pong")
    client.post(f"{page}move/", {"step": 0, "action": 1})
    SittingMove.objects.create(sitting=Sitting.objects.latest("pk"), step=0, seat=1, action=0)
    assertContains(client.get(page), "You played stay; anna v1 played up")
