"""Players that never come to an end, on the only worker there is: each is ended by its own limits, once."""

from __future__ import annotations

import pytest

from arena_kit.environment.registry import all_specs
from arena_kit.environment.spec import EnvironmentSpec
from core.models import Environment, JobFault, JobState, Validation
from core.tests import factories
from tests.samples import BALANCING, FIRST, deliver_messages, tic_tac_toe, upload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

HANGING = "import time\ntime.sleep(600)\n"
"""Nothing but time is counted while a player is loaded, so this one need not use a processor."""


def endless(source: str, work: str = "pass") -> str:
    """The same player, whose first move is never made."""
    head, begin, rest = source.partition("def start(self, state, valid_actions):\n")
    assert begin
    return f"{head}{begin}        while True:\n            {work}\n{rest}"


def patient(environment: Environment) -> Environment:
    """With times that end a player soon, and are long enough for a machine with other work."""
    environment.move_seconds, environment.bank_seconds, environment.start_seconds = 2, 1, 6
    environment.save()
    return environment


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(tic_tac_toe, id="game"),
        pytest.param(lambda: factories.task(episodes=4), id="task", marks=pytest.mark.nightly),
    ],
)
def test_an_endless_and_a_hanging_player_keep_a_normal_one_waiting_no_longer_than_their_own_limits(
    sandbox: str, make: object
) -> None:
    assert callable(make)
    environment = patient(make())
    normal = BALANCING if environment.is_scored else FIRST
    for name, source in (("endless", endless(normal)), ("hanging", HANGING + normal), ("normal", normal)):
        upload(environment, name, source)

    deliver_messages(drawing=False)

    validations = Validation.objects.order_by("ended_at")
    assert [validation.submission.agent.name for validation in validations] == ["endless", "hanging", "normal"]
    assert [(row.state, row.fault, row.error_code, row.attempt) for row in validations] == [
        (JobState.FAILED, JobFault.PLAYER, "player_timed_out", 1),
        (JobState.FAILED, JobFault.PLAYER, "player_start_timed_out", 1),
        (JobState.SUCCEEDED, JobFault.NONE, "", 1),
    ]
    # Neither is tried a second time: what a fork cannot cause does not go away without it.
    assert not [row for row in validations if "Trying again" in row.log]
    slow, hanging, normal_one = validations
    assert slow.matches_done <= 1
    assert "It was not ready within 6 s." in hanging.error
    assert normal_one.matches_done == normal_one.match_count


@pytest.mark.parametrize("spec", [spec for spec in all_specs() if spec.seats > 1], ids=lambda spec: spec.public_id)
def test_with_the_limits_of_the_shipped_games_these_two_keep_others_waiting_for_less_than_a_minute(
    spec: EnvironmentSpec,
) -> None:
    limits = spec.limits
    assert limits.start_seconds + limits.move_seconds + limits.bank_seconds <= 55


def test_a_validation_that_takes_longer_than_its_own_time_ends_although_its_moves_are_in_time(sandbox: str) -> None:
    environment = tic_tac_toe()
    environment.move_seconds, environment.validation_seconds = 3600, 6
    environment.save()
    upload(environment, "endless", endless(FIRST, "__import__('time').sleep(600)"))

    deliver_messages()

    validation = Validation.objects.get()
    assert (validation.state, validation.error_code) == (JobState.FAILED, "validation_time_exhausted")
    assert "within 6 s, the time limit of a validation" in validation.error
