"""A worker's workplace, and the names and labels of its containers."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from arena_kit.errors import PlatformFault
from arena_kit.sandbox.lock_file import tokens_alive
from core.models import Submission
from core.tests import factories
from duel_runner.workplace import Workplace, sandbox, worker_label, workplace_of_this_worker


@pytest.fixture
def workplace(settings: Settings) -> Workplace:
    settings.SANDBOX, settings.DEBUG = "process", True
    return workplace_of_this_worker()


@pytest.fixture
def submission(db: None) -> Submission:
    environment = factories.environment()
    return factories.submission(factories.agent(factories.user("owner"), environment))


@pytest.mark.parametrize("name", ["auto", "plain", ""])
def test_a_worker_takes_no_sandbox_that_is_chosen_on_laptops(settings: Settings, name: str) -> None:
    settings.DEBUG, settings.SANDBOX = True, name
    with pytest.raises(PlatformFault) as refused:
        sandbox()
    assert refused.value.code == "sandbox_refused"


def test_local_processes_are_for_a_machine_in_debug_only(settings: Settings) -> None:
    settings.DEBUG, settings.SANDBOX = False, "process"
    with pytest.raises(PlatformFault):
        sandbox()


def test_no_two_starts_have_the_same_name(workplace: Workplace, submission: Submission) -> None:
    launches = [workplace.launch(submission, workplace.core) for _ in range(3)]
    assert len({launch.name for launch in launches}) == 3


def test_containers_carry_the_arena_and_the_worker(
    workplace: Workplace, submission: Submission, settings: Settings
) -> None:
    labels = workplace.launch(submission, None).labels
    assert labels[worker_label()] in tokens_alive(settings.CHANNEL_DIR)
    assert settings.PLAYER_IMAGE_PREFIX in worker_label()


def test_a_worker_keeps_its_bench_until_it_leaves(workplace: Workplace, settings: Settings) -> None:
    assert workplace_of_this_worker() is workplace
    workplace.close()
    assert tokens_alive(settings.CHANNEL_DIR) == frozenset()
