"""What organisers read before they void something is what happens."""

from __future__ import annotations

import pytest

from core.editions.previews import duel_void_preview, rounds_void_preview
from core.editions.tests.planned import ranks
from core.editions.tests.test_disqualifying import FORMATS, advance, over
from core.models import Duel, LedgerVoid
from core.tournaments.rounds import counting
from core.tournaments.strikes import duel_void
from core.tournaments.voiding import round_void

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_void_duel_takes_with_it_what_was_foreseen(kind: str) -> None:
    cup = over(kind)
    duel = counting(cup).select_related("tournament__environment").order_by("number")[0]
    assert isinstance(duel, Duel)
    foreseen, before = duel_void_preview(duel), ranks(cup)

    duel_void(duel=duel, reason="Wrong opening.", user=None)
    advance(cup)

    in_meeting = {duel.player_1_id, duel.player_2_id}
    void = LedgerVoid.objects.select_related("duel")
    own = [
        row
        for row in void
        if row.duel.round == duel.round and {row.duel.player_1_id, row.duel.player_2_id} == in_meeting
    ]
    assert foreseen.others == void.count() - len(own)
    after = ranks(cup)
    assert {one.participant.submission_id: one.after for one in foreseen.moved} == {
        key: rank for key, rank in after.items() if rank != before[key]
    }


@pytest.mark.parametrize("kind", FORMATS)
def test_every_round_is_listed_with_what_falls(kind: str) -> None:
    cup = over(kind)
    foreseen = rounds_void_preview(cup)
    assert list(foreseen) == sorted(set(counting(cup).values_list("round", flat=True)))
    number = next(iter(foreseen))
    assert round_void(tournament=cup, number=number, reason="Wrong rules.", user=None) == foreseen[number][0]
    advance(cup)
    assert LedgerVoid.objects.count() == sum(foreseen[number])
