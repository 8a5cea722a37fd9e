"""The arena's main job without a browser: upload, build, validate, play, rank, on both sandboxes."""

from __future__ import annotations

import pytest
from django.utils import timezone

from arena_kit.environment.record_archive import DuelArchive
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import replay
from core.editions.progress import tournament_begin
from core.editions.services import start_now
from core.models import (
    Build,
    Duel,
    Environment,
    JobFault,
    JobState,
    LedgerEntry,
    Participant,
    Tournament,
    TournamentState,
    Validation,
)
from core.submissions.faults import validation_fault
from core.submissions.services import submission_create
from core.tests.working import run, work
from duel_runner.tests.commands import recheck
from tests.samples import (
    BROKEN,
    DYING,
    FIRST,
    LAST,
    MATCHES_PER_DUEL,
    MATCHES_PER_VALIDATION,
    MIDDLE,
    SECOND,
    UNFORKABLE,
    archive,
    deliver_messages,
    tic_tac_toe,
    upload,
)
from tests.sandboxes import in_containers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def environment() -> Environment:
    return tic_tac_toe()


@in_containers
def test_uploads_are_built_validated_played_and_ranked_and_every_match_can_be_replayed(
    sandbox: str, environment: Environment
) -> None:
    first = upload(environment, "first", FIRST)
    last = upload(environment, "last", LAST)

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
    with duel.records.open("rb") as file:
        matches = list(DuelArchive(file).matches())
    spec = get_spec("tic-tac-toe-v1")
    assert [match.number for match in matches] == list(range(1, MATCHES_PER_DUEL + 1))
    for match in matches:
        *_, end = replay(spec, match)
        assert end.text


def test_a_player_that_breaks_fails_its_validation_with_reason_and_log(sandbox: str, environment: Environment) -> None:
    upload(environment, "first", FIRST)
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
    fault = validation_fault(validation)
    assert fault is not None
    assert fault.trace.startswith("Traceback")
    assert "the model file is missing" in fault.trace
    assert not Tournament.objects.exists()


@pytest.mark.nightly
def test_a_player_that_cannot_be_loaded_fails_its_validation_with_the_last_line_of_its_output(
    sandbox: str, environment: Environment
) -> None:
    upload(environment, "unloadable", "import a_model_that_was_forgotten\n" + FIRST)

    deliver_messages()

    validation = Validation.objects.get()
    assert (validation.state, validation.error_code) == (JobState.FAILED, "player_failed_to_start")
    assert validation.error.startswith("Match 1: The player could not be started.")
    assert "ModuleNotFoundError: No module named 'a_model_that_was_forgotten'. If" in validation.error
    assert validation.error.endswith("is a package, add it to requirements.txt.")


@pytest.mark.nightly
def test_a_player_that_dies_again_and_again_is_to_blame_itself(sandbox: str, environment: Environment) -> None:
    upload(environment, "dying", DYING)

    deliver_messages()

    validation = Validation.objects.get()
    assert (validation.state, validation.fault, validation.attempt) == (JobState.FAILED, JobFault.PLAYER, 1)
    assert validation.error_code == "player_died"


def test_a_player_that_cannot_be_forked_gets_a_fresh_container_for_every_duel(
    sandbox: str, environment: Environment
) -> None:
    first = upload(environment, "first", FIRST)
    unforkable = upload(environment, "unforkable", UNFORKABLE)

    deliver_messages()

    validation = Validation.objects.get(submission=unforkable)
    assert validation.state == JobState.SUCCEEDED
    assert "player_died" in validation.log
    assert "this version always plays in a fresh container" in validation.log
    for submission, needs in ((first, False), (unforkable, True)):
        submission.refresh_from_db()
        assert submission.needs_fresh_container is needs
    duel = Duel.objects.get()
    assert (duel.state, duel.player_1_errors, duel.player_2_errors) == (JobState.SUCCEEDED, 0, 0)


@pytest.mark.nightly
def test_an_upload_need_not_wait_for_the_end_of_an_edition(sandbox: str, environment: Environment) -> None:
    upload(environment, "first", FIRST)
    upload(environment, "last", LAST)
    deliver_messages()
    second = upload(environment, "second", SECOND)
    (build,) = second.builds.all()
    run(build)
    (duel,) = start_now(environment).duels.all()

    work("duel")

    duel.refresh_from_db()
    (validation,) = second.validations.all()
    assert (validation.state, duel.state) == (JobState.SUCCEEDED, JobState.SUCCEEDED)
    assert validation.ended_at is not None
    assert duel.started_at is not None
    assert validation.ended_at <= duel.started_at


@pytest.mark.nightly
def test_a_new_version_starts_the_next_edition(sandbox: str, environment: Environment) -> None:
    first = upload(environment, "first", FIRST)
    upload(environment, "last", LAST)
    deliver_messages()

    newer = submission_create(agent=first.agent, archive=archive(SECOND))
    deliver_messages()

    assert list(Tournament.objects.order_by("edition").values_list("edition", "state")) == [
        (1, TournamentState.FINISHED),
        (2, TournamentState.FINISHED),
    ]
    in_second = Participant.objects.filter(tournament__edition=2).values_list("submission", flat=True)
    assert newer.pk in in_second
    assert first.pk not in in_second


@pytest.mark.nightly
@pytest.mark.parametrize("sandbox", ["process"], indirect=True)
def test_a_knock_out_of_an_organiser_is_played_to_its_end(sandbox: str, environment: Environment) -> None:
    players = [upload(environment, name, source) for name, source in (("a", FIRST), ("b", SECOND), ("c", LAST))]
    deliver_messages()
    cup = Tournament.objects.create(
        environment=environment, edition=2, name="Cup", state=TournamentState.PLANNED, is_automatic=False, seed=7,
        format="single-elimination", settings={"pairs": 1, "extension_pairs": 1, "extensions": 1}, started_at=None,
    )  # fmt: skip

    tournament_begin(cup, now=timezone.now())
    deliver_messages()

    cup.refresh_from_db()
    assert cup.state == TournamentState.FINISHED
    assert set(cup.participants.values_list("submission", flat=True)) == {player.pk for player in players}
    assert sorted(cup.participants.values_list("rank", flat=True)) == [1, 2, 3]
    assert set(cup.duels.values_list("round", "state")) == {(1, JobState.SUCCEEDED), (2, JobState.SUCCEEDED)}


@pytest.mark.parametrize("sandbox", ["process"], indirect=True)
def test_a_duel_of_a_tournament_ends_once_it_is_decided_and_verifies(sandbox: str, environment: Environment) -> None:
    players = [upload(environment, name, source) for name, source in (("first", FIRST), ("middle", MIDDLE))]
    deliver_messages()
    cup = Tournament.objects.create(
        environment=environment, edition=2, name="Cup", state=TournamentState.PLANNED, is_automatic=False, seed=7,
        format="single-elimination", settings={"pairs": 20, "stops_early": True}, started_at=None,
    )  # fmt: skip

    tournament_begin(cup, now=timezone.now())
    deliver_messages()

    duel = cup.duels.get()
    # Every pair is won: 7 of the 20 show it.
    assert (duel.matches_done, duel.match_count) == (14, 40)
    assert cup.participants.get(rank=1).submission == players[0]
    assert "14 of 14 matches" in recheck(duel, "--replay-players")[1]
