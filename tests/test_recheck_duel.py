"""A duel that was really played can be checked by all, and played again by the same images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from arena_kit.environment import registry
from arena_kit.image.engine import connect
from arena_kit.referee import play as referee
from core.jobs.control import job_cancel
from core.models import CancelCode, Duel, Environment, JobState, Validation
from duel_runner.tests.commands import recheck
from tests.samples import FIRST, LAST, MATCHES_PER_DUEL, deliver_messages, tic_tac_toe, upload
from tests.workplaces import leave_workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
RANDOM = """
import random

class Player:
    def __init__(self, train_mode):
        self.random = random.SystemRandom()

    def start(self, state, valid_actions):
        return self.random.choice(list(valid_actions))

    def step(self, state, valid_actions, prev_reward):
        return self.random.choice(list(valid_actions))

    def end(self, state, prev_reward):
        pass
"""


@pytest.fixture
def environment() -> Environment:
    return tic_tac_toe()


def played(environment: Environment, first: str, second: str) -> Duel:
    upload(environment, "first", first)
    upload(environment, "second", second)
    deliver_messages()
    return Duel.objects.get(state=JobState.SUCCEEDED)


@pytest.mark.nightly
def test_deterministic_players_play_the_same_duel_again(sandbox: str, environment: Environment) -> None:
    duel = played(environment, FIRST, LAST)

    code, said = recheck(duel, "--replay-players")

    assert code == 0, said
    assert f"Played again, sandbox {sandbox}: the same; {MATCHES_PER_DUEL} of {MATCHES_PER_DUEL} matches" in said


def test_a_player_with_chance_of_its_own_plays_otherwise_and_is_told_apart_from_a_wrong_record(
    sandbox: str, environment: Environment
) -> None:
    duel = played(environment, RANDOM, RANDOM)

    code, said = recheck(duel, "--replay-players")

    assert code == 3, said
    assert "Verified: " in said
    assert "differs: a player is not deterministic, or the record is wrong" in said
    assert said.count("DIFFERS Match ") > 0


@pytest.mark.docker
def test_images_are_known_by_their_content_and_never_replaced_by_others_of_their_name(
    environment: Environment, settings: Settings
) -> None:
    settings.SANDBOX = "docker"
    duel = played(environment, FIRST, LAST)
    players = (duel.player_1, duel.player_2)
    assert (duel.player_1_digest, duel.player_2_digest) == tuple(player.image_digest for player in players)
    assert all(digest.startswith("sha256:") for digest in (duel.player_1_digest, duel.player_2_digest))
    validation = Validation.objects.get(submission=players[0])
    assert validation.player_1_digest == validation.player_2_digest == players[0].image_digest
    assert len(validation.record_sha256) == len(duel.record_sha256) == 64

    client = connect()
    try:
        client.images.get(duel.player_2.image).tag(*duel.player_1.image.split(":"))
        code, said = recheck(duel, "--replay-players")
        assert code == 0, said

        leave_workplace()
        client.images.remove(duel.player_1_digest, force=True)
        code, said = recheck(duel, "--replay-players")
        assert code == 2, said
        assert "It cannot be played again: The image is missing on this host" in said
        assert "Verified: " in said
    finally:
        client.close()


def test_a_result_that_is_refused_leaves_no_files(
    environment: Environment, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR, settings.MEDIA_ROOT = "process", True, tmp_path, tmp_path / "f"

    def run_and_lose_claim(*args: Any, **options: Any) -> referee.PlayedDuel:
        result = run_duel(*args, **options)
        for duel in Duel.objects.filter(state=JobState.RUNNING):
            job_cancel(job=duel, code=CancelCode.BY_ORGANISER, reason="The organisers stopped it at the last moment.")
        return result

    run_duel = referee.run_duel
    monkeypatch.setattr(referee, "run_duel", run_and_lose_claim)
    upload(environment, "first", FIRST)
    upload(environment, "second", LAST)
    deliver_messages()

    duel = Duel.objects.get()
    assert (duel.state, bool(duel.records)) == (JobState.CANCELLED, False)
    assert not any(path.is_file() for path in (tmp_path / "f" / "duels").rglob("*"))


@pytest.mark.nightly
def test_rules_that_change_during_an_edition_are_not_mixed(
    environment: Environment, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code is upgraded after the first duel: what is left of the edition is void, not played with other rules."""
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR, settings.JOB_MAX_ATTEMPTS = "process", True, tmp_path, 1
    for name in ("first", "second", "third"):
        upload(environment, name, FIRST)
    new = tuple(replace(spec, version=3, earlier=()) for spec in registry.all_specs())

    def run_and_upgrade(*args: Any, **options: Any) -> referee.PlayedDuel:
        result = run_duel(*args, **options)
        if Duel.objects.exists():
            monkeypatch.setattr(registry, "all_specs", lambda: new)
        return result

    run_duel = referee.run_duel
    monkeypatch.setattr(referee, "run_duel", run_and_upgrade)
    deliver_messages()

    assert sorted(Duel.objects.values_list("state", "error_code", "environment_version")) == [
        (JobState.FAILED, "rules_missing", "tic-tac-toe-v1"),
        (JobState.FAILED, "rules_missing", "tic-tac-toe-v1"),
        (JobState.SUCCEEDED, "", "tic-tac-toe-v1"),
    ]
