"""What agents print is shown beside their moves, to their owner alone, and never as HTML."""

from __future__ import annotations

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from core.models import Duel, User
from core.tests.factories import Cast
from web.conftest import As
from web.tests.arena import Stage

pytestmark = pytest.mark.django_db
LOG = """loaded
[match 1, move 1]
anna thinks of <b>4</b>
[match 1, move 2]
\x1b[31mred\x1b[0m and \u202eturned
[match 2, move 1]
of another match
[match 1, end]
anna lost
[match 1] KeyError: 'x'
a traceback
"""


@pytest.fixture
def page(stage: Stage) -> str:
    """Return the address of a match whose two players, alice's and bob's, have printed something."""
    duel = stage.duel
    for field, text in ((duel.player_1_log, LOG), (duel.player_2_log, LOG.replace("anna", "berta"))):
        field.save("player.log", ContentFile(text.encode()), save=False)
    Duel.objects.filter(pk=duel.pk).update(player_1_log=duel.player_1_log.name, player_2_log=duel.player_2_log.name)
    return f"/duels/{duel.pk}/matches/1/"


def test_owners_read_what_their_own_agent_printed_at_each_move(page: str, cast: Cast, visit: As) -> None:
    alice = visit(cast.alice)
    shown = alice.get(f"{page}?ply=1")
    assertContains(shown, "What your agent printed")
    assertContains(shown, "anna thinks of &lt;b&gt;4&lt;/b&gt;")
    assertNotContains(shown, "<b>4</b>")
    assert shown.context["printed_here"] == "anna v1:\nanna thinks of <b>4</b>"
    # Anna's moves lead to the odd states; its `end` belongs to the last one.
    found = shown.context["output"].found
    assert [(one.ply, one.is_end) for one in found] == [(1, False), (3, False), (shown.context["last"], True)]
    assert found[1].text == "[31mred[0m and \u202eturned"
    for other in ("of another match", "berta thinks", "a traceback", "loaded"):
        assertNotContains(shown, other)
    assertContains(alice.get(f"{page}?ply=2"), "Nothing during the move that led to this state.")
    assert alice.get(f"{page}?ply=2").context["printed_here"] == ""


def test_nobody_else_sees_it_whatever_may_be_seen_of_the_source(page: str, stage: Stage, cast: Cast, visit: As) -> None:
    stage.anna.agent.is_public = True
    stage.anna.agent.save()
    people: list[User | None] = [None, cast.charlie, cast.olga]
    for person in people:
        shown = visit(person).get(page)
        assertNotContains(shown, "thinks of")
        assertNotContains(shown, "What your agent printed")
    bob = visit(cast.bob).get(page)
    assertContains(bob, "berta thinks of")
    assertNotContains(bob, "anna thinks of")
    for address in ("frames.json", "replay.json", "replay.html"):
        assertNotContains(visit(cast.alice).get(page + address), "thinks of")


def test_a_log_that_is_gone_or_says_nothing_leaves_the_page_as_it_is(
    page: str, stage: Stage, cast: Cast, visit: As, client: Client
) -> None:
    third = page.replace("/matches/1/", "/matches/5/")
    assertNotContains(visit(cast.alice).get(third), "What your agent printed")
    stage.duel.player_1_log.storage.delete(str(stage.duel.player_1_log.name))
    shown = visit(cast.alice).get(page)
    assert shown.status_code == 200
    assertNotContains(shown, "What your agent printed")
