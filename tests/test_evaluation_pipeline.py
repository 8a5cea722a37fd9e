"""Every shipped environment that is ranked by scores, evaluated for real, and the way from an upload to its board."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.environment.episodes import EvaluationArchive, EvaluationRecord, evaluation_sha256
from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.image.docker_recipe import DockerRecipe
from arena_kit.image.packages import Network
from arena_kit.referee.play import run_evaluation
from arena_kit.referee.recheck.evaluations import recheck_evaluation
from arena_kit.sandbox.base import Host, Launch, Sandbox, Slot
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.tests.environment.playing import TASKS, installed
from arena_kit.tests.image.archives import archive as zip_with
from core.duels.run_requests import RunPlayer, RunRequest
from core.duels.run_selectors import run_result, run_rows
from core.duels.runs import run_start
from core.evaluations.board import BoardFilter, BoardRow, board_page
from core.models import Build, Environment, Evaluation, JobFault, JobState, RecheckVerdict, Recording, Validation
from core.submissions.services import submission_create
from core.tests import factories
from duel_runner.tests.commands import recheck
from tests.samples import (
    BALANCING,
    FIRST,
    SCRIPT,
    archive,
    deliver_messages,
    upload,
)
from tests.sandboxes import in_containers

RANDOM_PLAYER = Path(__file__).resolve().parent.parent / "example_players" / "random" / "player.py"
LIMITS = Limits(memory_limit_bytes=512 << 20, start_seconds=60.0)
LONG_STEPS = 500
"""Of an environment whose episodes may have more, only few are played."""

EPISODES, PRACTICE_EPISODES = 4, 2

# --- Every environment ----------------------------------------------------------------------------------------


def marks_of(sandbox: str, number: int) -> list[pytest.MarkDecorator]:
    """Marks of the task of this number: a push evaluates every fourth in local processes.

    An environment runs in the referee's process: in which sandbox its player sits is shown by the upload below.
    """
    if sandbox == "process":
        return [] if number % 4 == 0 else [pytest.mark.nightly]
    return [pytest.mark.docker, pytest.mark.nightly]


SHIPPED = [
    pytest.param(sandbox, spec, id=f"{sandbox}-{spec.public_id}", marks=marks_of(sandbox, number))
    for sandbox in ("process", "docker")
    for number, spec in enumerate(TASKS)
]


@pytest.fixture(scope="module")
def random_player(request: pytest.FixtureRequest) -> Iterator[Host]:
    """One container with the random example, in which an evaluation after the other is in a slot."""
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    folder.chmod(0o711)
    image = f"folder:{folder / 'player'}"
    sandbox: Sandbox = ProcessSandbox(folder / "c")
    if request.param == "docker":
        sandbox = DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=folder / "c")
        recipe = DockerRecipe(
            base_images=settings.PLAYER_BASE_IMAGES,
            prefix=settings.PLAYER_IMAGE_PREFIX,
            network=Network({}, "", "none"),
        )
        source = zip_with({"player.py": RANDOM_PLAYER.read_text(encoding="utf-8")})
        image = recipe.build(source, name="random", labels={}, log=print).digest
    (folder / "player").mkdir(mode=0o755)
    shutil.copy(RANDOM_PLAYER, folder / "player")
    host = sandbox.start(Launch(image, f"arena-test-random-{os.getpid()}", LIMITS, {"arena.test": "evaluations"}))
    yield host
    host.close()
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize(("random_player", "spec"), SHIPPED, indirect=["random_player"])
def test_every_shipped_environment_is_evaluated_and_its_record_verifies(
    spec: EnvironmentSpec, random_player: Host
) -> None:
    installed(spec)
    seeds = (7, 2**47) if spec.max_steps > LONG_STEPS else (7, 2**47, 1, 8, 7, 2**31)

    def launch() -> Slot:
        slot = random_player.slot()
        slot.on_close = lambda _: None
        return slot

    played = run_evaluation(
        spec,
        launch,
        name="random",
        seeds=seeds,
        # Fewer than there are episodes, so that places are used again.
        parallel_episodes=len(seeds) - 1,
        limits=spec.limits,
        clock=time.monotonic,
    )

    assert played.failure is None, played.player_log
    assert [(one.number, one.seed) for one in played.record.episodes] == list(enumerate(seeds, start=1))
    assert all(0 < one.length <= spec.max_steps for one in played.record.episodes)
    assert recheck_evaluation(spec, played.record, seeds=seeds, sha256=evaluation_sha256(played.record)) == []


# --- From an upload to the board ------------------------------------------------------------------------------

rows = pytest.mark.django_db(transaction=True)


@pytest.fixture
def environment() -> Environment:
    return factories.task(episodes=EPISODES)


@pytest.fixture(
    params=[
        pytest.param("process"),
        pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.network, pytest.mark.nightly]),
    ]
)
def script_sandbox(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> str:
    """Like `sandbox`; on an engine scripts are built with packages from an index."""
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = request.param, True, tmp_path
    return str(request.param)


def board(environment: Environment) -> list[BoardRow]:
    """The board as it is now, not as it was within the last second."""
    cache.clear()
    return list(board_page(environment, BoardFilter()).rows)


def recorded(evaluation: Evaluation) -> EvaluationRecord:
    with evaluation.records.open("rb") as file:
        return EvaluationArchive(file).record()


@rows
@pytest.mark.slow
@in_containers
def test_an_upload_is_built_practises_is_evaluated_ranked_and_recorded_and_plays_the_same_again(
    sandbox: str,
) -> None:
    # Of one practised episode one recording is drawn: `test_evaluations.py` chooses among several.
    environment = factories.task(episodes=EPISODES, practice=1)
    submission = upload(environment, "balancer", BALANCING)

    deliver_messages()

    assert Build.objects.get().state == JobState.SUCCEEDED
    validation, evaluation = Validation.objects.get(), Evaluation.objects.get()
    assert (validation.state, validation.matches_done) == (JobState.SUCCEEDED, 1)
    assert (evaluation.state, evaluation.is_verified, evaluation.is_current) == (JobState.SUCCEEDED, True, True)
    assert evaluation.player_digest == (submission.agent.submissions.get().image_digest if sandbox == "docker" else "")
    (row,) = board(environment)
    assert (row.rank, row.agent, row.number, row.episode_count, row.is_verified) == (1, "balancer", 1, EPISODES, True)
    record = recorded(evaluation)
    assert evaluation.seed_list is not None
    assert [episode.seed for episode in record.episodes] == evaluation.seed_list.seeds
    assert row.score == pytest.approx(sum(episode.score for episode in record.episodes) / EPISODES)
    assert row.score > 50
    recording = Recording.objects.get()
    assert (recording.choice, recording.state) == ("BEST", JobState.SUCCEEDED)
    assert all((recording.steps, recording.video, recording.poster)), recording.log
    assert all((recording.replay_document, recording.replay_page))

    # A program's run of it plays the first of the public seeds, and changes nothing on the board.
    request = RunRequest("mine", environment.slug, (RunPlayer("me", f"submission:{submission.pk}"),), 600)
    run, _ = run_start(caller=submission.agent.owner, request=request, now=timezone.now())
    deliver_messages()
    run = run_rows(run.caller).get()
    result = run_result(run)
    assert result is not None
    assert run.evaluation.seed_list is not None
    assert result.sides[0].score > 50
    assert [one.seed for one in recorded(run.evaluation).episodes] == run.evaluation.seed_list.seeds[:1]
    assert (Evaluation.objects.get(), Recording.objects.get()) == (evaluation, recording)

    code, said = recheck(evaluation, "--replay-players")

    evaluation.refresh_from_db()
    assert code == 0, said
    assert evaluation.verdict == RecheckVerdict.VERIFIED
    assert f"Played again, sandbox {sandbox}: the same; {EPISODES} of {EPISODES} episodes went as recorded." in said


@rows
@pytest.mark.slow
@pytest.mark.nightly
def test_a_player_with_chance_of_its_own_plays_otherwise_and_its_record_verifies_all_the_same(
    sandbox: str, environment: Environment
) -> None:
    upload(environment, "random", RANDOM_PLAYER.read_text(encoding="utf-8"))
    deliver_messages(drawing=False)

    code, said = recheck(Evaluation.objects.get(), "--replay-players")

    assert code == 3, said
    assert "Verified: " in said
    assert re.search(r"^DIFFERS Episode \d: other actions from step \d+ on\.$", said, re.MULTILINE)


@rows
@pytest.mark.slow
@pytest.mark.nightly
def test_a_script_stands_below_what_the_arena_has_verified_whatever_it_reports(
    script_sandbox: str, environment: Environment
) -> None:
    upload(environment, "boaster", SCRIPT, file="submission.py")
    upload(environment, "first", FIRST)

    deliver_messages(drawing=False)

    script = Evaluation.objects.get(agent__name="boaster")
    assert (script.state, script.score, script.episode_count, script.metrics) == (
        JobState.SUCCEEDED,
        100000,
        2,
        [99999, 100001],
    )
    assert [(row.rank, row.agent, row.is_verified) for row in board(environment)] == [
        (1, "first", True),
        (2, "boaster", False),
    ]
    with script.player_log.open("rb") as log:
        assert b"playing CartPole-v1" in log.read()


@rows
@pytest.mark.slow
@pytest.mark.nightly
def test_a_script_that_fails_is_not_on_the_board_and_says_why(script_sandbox: str, environment: Environment) -> None:
    upload(environment, "failing", 'print("looking for the model")\nraise SystemExit(3)\n', file="submission.py")
    upload(environment, "silent", 'print("done")\n', file="submission.py")

    deliver_messages(drawing=False)

    failing, silent = Evaluation.objects.order_by("pk")
    assert (failing.state, failing.fault, silent.state) == (JobState.FAILED, JobFault.PLAYER, JobState.FAILED)
    assert "ended with exit status 3" in failing.error
    assert "looking for the model" in failing.error
    assert "printed no score" in silent.error
    assert board(environment) == []


TIRED = BALANCING.replace("class Player", "STARTED = []\n\n\nclass Player").replace(
    "    def start(self, state, valid_actions):\n",
    "    def start(self, state, valid_actions):\n        STARTED.append(1)\n"
    f"        assert len(STARTED) <= {PRACTICE_EPISODES}, 'that was enough'\n",
)
"""Plays as many episodes as practice has, and no more."""


@rows
@pytest.mark.slow
@pytest.mark.nightly
def test_a_new_version_takes_the_old_ones_place_and_one_that_fails_does_not(
    sandbox: str, environment: Environment
) -> None:
    first = upload(environment, "learner", FIRST)
    deliver_messages(drawing=False)
    assert [row.number for row in board(environment)] == [1]

    submission_create(agent=first.agent, archive=archive(BALANCING))
    deliver_messages(drawing=False)
    (row,) = board(environment)
    assert (row.number, row.rank) == (2, 1)

    submission_create(agent=first.agent, archive=archive(TIRED))
    deliver_messages(drawing=False)
    assert [row.number for row in board(environment)] == [2]
    states = Evaluation.objects.order_by("pk").values_list("submission__number", "state", "is_current")
    assert list(states) == [
        (1, JobState.SUCCEEDED, False),
        (2, JobState.SUCCEEDED, True),
        (3, JobState.FAILED, False),
    ]
