"""The arena's main job without a browser: upload, build, validate, play, rank, on both sandboxes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.module_loading import import_string
from django_q.models import OrmQ
from pytest_django.fixtures import Settings

from builder.tasks import recipe
from core.models import (
    Build,
    Duel,
    Environment,
    JobFault,
    JobState,
    LedgerEntry,
    Participant,
    Submission,
    Tournament,
    TournamentState,
    User,
    Validation,
)
from core.services.agents import agent_create, submission_create
from core.services.environments import environment_sync
from environments.archive_format import DuelArchive
from environments.registry import get_spec
from environments.replay import replay

PLAYER = """
class Player:
    def __init__(self, train_mode):
        print("loaded for", "training" if train_mode else "playing")

    def start(self, state, valid_actions):
        return valid_actions[{index}]

    def step(self, state, valid_actions, prev_reward):
        return valid_actions[{index}]

    def end(self, state, prev_reward):
        pass
"""
BROKEN = """
class Player:
    def __init__(self, train_mode):
        print("about to break")

    def start(self, state, valid_actions):
        return valid_actions[0]

    def step(self, state, valid_actions, prev_reward):
        raise RuntimeError("the model file is missing")

    def end(self, state, prev_reward):
        pass
"""
MATCHES_PER_DUEL = 10
MATCHES_PER_VALIDATION = 4

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(params=["process", pytest.param("docker", marks=pytest.mark.docker)])
def sandbox(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> Iterator[str]:
    """Play for real in this sandbox; images made meanwhile are removed."""
    settings.SANDBOX = request.param
    settings.DEBUG = True
    settings.DATA_DIR = tmp_path
    yield request.param
    for image in Submission.objects.exclude(image="").values_list("image", flat=True):
        recipe().remove(image)


@pytest.fixture
def environment() -> Environment:
    """Tic-tac-toe with short duels."""
    row, _ = environment_sync(spec=get_spec("tic-tac-toe"))
    row.matches_per_duel, row.matches_per_validation = MATCHES_PER_DUEL, MATCHES_PER_VALIDATION
    row.save()
    return row


def upload(environment: Environment, name: str, source: str) -> Submission:
    owner, _ = User.objects.get_or_create(email=f"{name}@arena.example", defaults={"username": name})
    return agent_create(owner=owner, environment=environment, name=name, is_public=False, archive=archive(source))


def archive(source: str) -> SimpleUploadedFile:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("player.py", source)
    return SimpleUploadedFile("player.zip", file.getvalue(), content_type="application/zip")


def deliver_messages() -> None:
    """Do what the workers do, one message after the other, until no message is left."""
    while message := OrmQ.objects.order_by("pk").first():
        task = message.task
        message.delete()
        import_string(task["func"])(*task["args"])


def test_uploads_are_built_validated_played_and_ranked(sandbox: str, environment: Environment) -> None:
    first = upload(environment, "first", PLAYER.format(index=0))
    last = upload(environment, "last", PLAYER.format(index=-1))

    deliver_messages()

    assert set(Build.objects.values_list("state", flat=True)) == {JobState.SUCCEEDED}
    assert set(Validation.objects.values_list("state", "matches_done")) == {
        (JobState.SUCCEEDED, MATCHES_PER_VALIDATION)
    }
    tournament = Tournament.objects.get()
    assert (tournament.edition, tournament.state) == (1, TournamentState.FINISHED)
    duel = Duel.objects.get()
    assert {duel.player_1, duel.player_2} == {first, last}
    # Both take one row after the other from their end of the board: who moves first has three in a row first.
    assert (duel.player_1_wins, duel.player_2_wins, duel.draws) == (MATCHES_PER_DUEL / 2, MATCHES_PER_DUEL / 2, 0)
    assert LedgerEntry.objects.filter(duel=duel).count() == 4
    assert [(p.rank, p.points, p.draws) for p in Participant.objects.all()] == [(1, 1, 1), (1, 1, 1)]


def test_every_match_of_a_played_duel_can_be_replayed(sandbox: str, environment: Environment) -> None:
    upload(environment, "first", PLAYER.format(index=0))
    upload(environment, "last", PLAYER.format(index=-1))

    deliver_messages()

    with Duel.objects.get().records.open("rb") as file:
        matches = list(DuelArchive(file).matches())
    spec = get_spec("tic-tac-toe")
    assert [match.number for match in matches] == list(range(1, MATCHES_PER_DUEL + 1))
    for match in matches:
        *_, end = replay(spec, match)
        assert end.text


def test_a_player_that_breaks_fails_its_validation_with_reason_and_log(sandbox: str, environment: Environment) -> None:
    upload(environment, "first", PLAYER.format(index=0))
    upload(environment, "broken", BROKEN)

    deliver_messages()

    validation = Validation.objects.get(submission__agent__name="broken")
    assert (validation.state, validation.fault, validation.error_code) == (
        JobState.FAILED,
        JobFault.PLAYER,
        "player_raised",
    )
    assert "the model file is missing" in validation.error
    with validation.player_1_log.open("rb") as log:
        assert b"about to break" in log.read()
    assert not Tournament.objects.exists()


def test_a_new_version_starts_the_next_edition(sandbox: str, environment: Environment) -> None:
    first = upload(environment, "first", PLAYER.format(index=0))
    upload(environment, "last", PLAYER.format(index=-1))
    deliver_messages()

    newer = submission_create(agent=first.agent, archive=archive(PLAYER.format(index=1)))
    deliver_messages()

    assert list(Tournament.objects.order_by("edition").values_list("edition", "state")) == [
        (1, TournamentState.FINISHED),
        (2, TournamentState.FINISHED),
    ]
    in_second = Participant.objects.filter(tournament__edition=2).values_list("submission", flat=True)
    assert newer.pk in in_second
    assert first.pk not in in_second
