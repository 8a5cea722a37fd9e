"""A new version that is really played against the active one, until the test has decided, and checked afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from arena_kit.environment.record_archive import DuelArchive
from core.models import Duel, LedgerEntry, Promotion, PromotionState, Submission, Validation
from core.submissions.services import submission_create
from duel_runner.tests.commands import recheck
from tests.samples import FIRST, MIDDLE, archive, deliver_messages, tic_tac_toe, upload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_a_better_version_takes_over_after_a_few_pairs_and_the_duel_verifies(
    settings: Settings, tmp_path: Path
) -> None:
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path
    environment = tic_tac_toe()
    environment.has_gate, environment.test_cap = True, 100
    environment.save()
    old = upload(environment, "mine", MIDDLE)
    deliver_messages()

    new = submission_create(agent=old.agent, archive=archive(FIRST))
    deliver_messages()

    promotion = Promotion.objects.get()
    assert (promotion.candidate, promotion.incumbent, promotion.state) == (new, old, PromotionState.ACTIVATED)
    assert Submission.objects.active().latest("number") == new
    duel = Duel.objects.get()
    # Every pair is won: after 16 of them the limit is reached.
    assert (duel.matches_done, duel.match_count, duel.player_1_wins) == (32, 200, 32)
    assert duel.test_result is not None
    assert duel.test_result["state"] == "accepted H1"
    assert not LedgerEntry.objects.exists()
    with duel.records.open("rb") as file:
        assert DuelArchive(file).match_count == 32
    code, said = recheck(duel, "--replay-players")
    assert code == 0, said
    assert "the same; 32 of 32 matches" in said
    assert Validation.objects.count() == 2
