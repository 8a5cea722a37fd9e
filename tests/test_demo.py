"""`make demo`: the arena's main job with one command, stopped and started again."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from email.message import Message
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.environment.registry import all_specs, get_spec
from arena_kit.errors import PlatformFault
from arena_kit.examples import EXAMPLES, Example, names
from core.demo.accounts import ORGANISER, account
from core.demo.agents import SCORED, examples_upload, images_follow_sandbox
from core.demo.application import ApplicationDemo, images_missing
from core.demo.processes import Child, free_port, port_is_free
from core.demo.progress import failures, leaderboard, stages
from core.environments.services import environment_sync
from core.management.commands.demo import Command, only_one
from core.models import (
    Agent,
    Batch,
    Build,
    JobState,
    Package,
    Rollout,
    Tournament,
    User,
)
from core.settings.data_key import data_key
from core.tests import applications, factories
from tests.samples import FIRST, LAST, tic_tac_toe, upload, zip_of

ROOT = Path(__file__).resolve().parent.parent
DEADLINE_SECONDS = 900


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free: int = probe.getsockname()[1]
        return free


def untrained(slug: str) -> int:
    """The number of a game's example players that need no training."""
    return sum(not EXAMPLES.get(name, Example()).weights for name in names(slug))


def variables(data: Path) -> dict[str, str]:
    """Those of the demo on this data."""
    given = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return {**given, "DEBUG": "true", "DATA_DIR": str(data), "DOCKER_HOST": "unix:///nowhere/engine.sock"}


@contextmanager
def demo(data: Path, port: int, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The demo on this data, stopped at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo", "--sandbox", "process", "--port", str(port), *arguments],
        cwd=ROOT,
        env=variables(data),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=DEADLINE_SECONDS)


def beside(data: Path, program: str) -> str:
    """The last line that a program on the same data writes in a process of its own."""
    command = [sys.executable, "manage.py", "shell", "-v", "0", "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=variables(data), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip().rpartition("\n")[2]


def test_links_in_mails_lead_to_the_port_of_the_demo(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Began(Exception):
        pass

    def begin(_: str, __: list[str], variables: dict[str, str]) -> None:
        raise Began(variables.get("SITE_URL"))

    settings.DEBUG, settings.DATA_DIR, settings.SITE_URL = True, tmp_path, ""
    monkeypatch.setattr("core.management.commands.demo.os.execve", begin)
    with pytest.raises(Began, match=r"^http://127\.0\.0\.1:8765$"):
        call_command("demo", sandbox="process", port=8765)


def processes_of(data: Path) -> list[int]:
    """Ids of processes whose variables name this data folder."""
    wanted = f"DATA_DIR={data}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def static_file(port: int) -> Message:
    """The headers of the style sheet that the home page names."""
    base = f"http://127.0.0.1:{port}"
    with urllib.request.urlopen(f"{base}/") as page:
        address = re.search(rb'href="(/static/web/app\.[0-9a-f]+\.css)"', page.read())
    assert address is not None
    wanted = urllib.request.Request(base + address[1].decode(), headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(wanted) as file:
        headers: Message = file.headers
        return headers


CLOSE_OTHERS = """
from django.core.management import call_command
from arena_kit.environment.registry import all_specs, get_spec
from core.environments.services import environment_sync
from core.models import Environment

call_command("migrate", verbosity=0)
for spec in all_specs():
    environment_sync(spec=spec)
Environment.objects.exclude(slug="tic-tac-toe").update(is_active=False)
"""
"""An organiser has closed all environments but one, which the demo respects."""
ASK_FOR_A_RUN = """
import time
from django.utils import timezone
from core.duels.run_requests import RunPlayer, RunRequest
from core.duels.run_selectors import run_job
from core.duels.runs import run_start
from core.models import Run, Submission, User

first, second = Submission.objects.active().order_by("pk")[:2]
players = tuple(RunPlayer(str(each.pk), f"submission:{each.public_id}") for each in (first, second))
request = RunRequest("asked-beside", "tic-tac-toe", players, match_count=2)
run, _ = run_start(caller=User.objects.get(username="organiser"), request=request, now=timezone.now())
asked_at = time.monotonic()
while not run_job(Run.objects.get(pk=run.pk)).is_over and time.monotonic() < asked_at + 60:
    time.sleep(0.05)
print(run_job(Run.objects.get(pk=run.pk)).state)
"""
"""What another process of the same data asks the demo's workers for, as `make executor` does."""


@pytest.mark.slow
def test_the_demo_goes_from_uploads_to_a_leaderboard_and_leaves_nothing_behind(tmp_path: Path, port: int) -> None:
    subprocess.run(
        [sys.executable, "manage.py", "shell", "-c", CLOSE_OTHERS],
        cwd=ROOT,
        env=variables(tmp_path),
        check=True,
    )
    with demo(tmp_path, port, "--matches", "2") as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith(f"Open http://127.0.0.1:{port}/"):
                break
        served = static_file(port)
        asked = beside(tmp_path, ASK_FOR_A_RUN)
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=DEADLINE_SECONDS)
    said = "".join(lines)
    assert "Sandbox: local processes, as you asked." in said
    assert "matches per duel: Tic-tac-toe (2). " in said
    assert f"Example agents of Tic-tac-toe: {untrained('tic-tac-toe')} uploaded." in said
    assert (
        f"log in as organiser@arena.example, password {(tmp_path / 'organiser-password').read_text().strip()}" in said
    )
    board = f"^Tic-tac-toe: 1\\. .*minimax v1 .*\\. http://127.0.0.1:{port}/environments/tic-tac-toe/$"
    assert re.search(board, said, re.MULTILINE)
    assert "Leaderboards complete" in said
    assert "Failed" not in said
    # The site, its events, and nothing beside them that would be in the way of `make executor`.
    shown = re.search(
        r"^The site is up: http://127\.0\.0\.1:(\d+)/ \(live events: http://127\.0\.0\.1:(\d+)/", said, re.MULTILINE
    )
    assert shown is not None
    assert int(shown[1]) == port
    assert int(shown[2]) not in (port, 50051)
    assert asked == "SUCCEEDED"
    assert "BadSignature" not in "".join(log.read_text() for log in (tmp_path / "logs").iterdir())
    assert rest.splitlines() == [
        "Stopping the site and the workers ...",
        "Stopped. `make demo` continues where it stopped.",
    ]
    assert process.returncode == 0
    assert processes_of(tmp_path) == []
    assert (served["Content-Encoding"], served["Cache-Control"]) == ("gzip", "max-age=315360000, public, immutable")


@pytest.mark.slow
@pytest.mark.nightly
def test_the_demo_is_stopped_in_the_middle_and_continues_to_its_first_leaderboards(tmp_path: Path, port: int) -> None:
    with demo(tmp_path, port, "--matches", "2") as process:
        assert process.stdout is not None
        begun = []
        for line in process.stdout:
            begun.append(line)
            if line.startswith("The site is up"):
                break
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=DEADLINE_SECONDS)
    first = "".join(begun) + rest
    assert "Sandbox: local processes, as you asked." in first
    assert "Connect Four (2)" in first
    count = sum(untrained(spec.slug) for spec in all_specs() if spec.seats == 2)
    assert f": {count} uploaded." in first
    assert "log in as organiser@arena.example" in first
    assert "Stopped. `make demo` continues where it stopped." in rest
    assert process.returncode == 0
    assert processes_of(tmp_path) == []

    with demo(tmp_path, port, "--once") as process:
        second, _ = process.communicate(timeout=DEADLINE_SECONDS)
    assert "Connect Four (2)" in second
    assert ": already uploaded." in second
    for name in ("Connect Four", "Pong", "Quarto", "Tic-tac-toe", "CartPole", "FrozenLake"):
        assert f"\n{name}: 1. " in second
    assert "Leaderboards complete" in second
    assert process.returncode == 0
    assert processes_of(tmp_path) == []


def test_a_port_in_use_is_named_with_another_to_try(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path
    with socket.socket() as taken, ExitStack() as stack:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CommandError) as refused:
            Command()._run(stack, {"port": port})
    assert f"Port {port} on 127.0.0.1 is in use" in str(refused.value)
    assert f"make demo PORT={port + 1}" in str(refused.value)


def test_a_second_demo_on_the_same_data_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "demo.lock"
    with only_one(lock), pytest.raises(CommandError, match="Another demo is running"), only_one(lock):
        pytest.fail("the lock was given twice")


@pytest.mark.parametrize("matches", [0, 1, 7])
def test_an_odd_number_of_matches_is_refused(settings: Settings, matches: int) -> None:
    settings.DEBUG = True
    with pytest.raises(CommandError, match="even number"):
        call_command("demo", matches=matches)


def test_the_demo_is_refused_on_a_production_site(settings: Settings) -> None:
    settings.DEBUG = False
    with pytest.raises(CommandError, match="make demo"):
        call_command("demo")


@pytest.mark.django_db
def test_the_organisers_password_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    organiser = account(tmp_path, ORGANISER)
    first = (tmp_path / "organiser-password").read_text()
    assert account(tmp_path, ORGANISER) == organiser
    assert (tmp_path / "organiser-password").read_text() == first
    assert organiser.check_password(first.strip())
    assert organiser.is_superuser
    assert stat.S_IMODE((tmp_path / "organiser-password").stat().st_mode) == 0o600


def test_every_command_on_the_same_data_has_its_secret_key(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    show = "from django.conf import settings; print(settings.SECRET_KEY)"
    with ThreadPoolExecutor() as pool:
        keys = list(pool.map(beside, [here, here, there], [show] * 3))
    assert keys[0] == keys[1] != keys[2]
    assert min(map(len, keys)) > 50
    assert data_key(here) == keys[0]
    assert stat.S_IMODE((here / "secret-key").stat().st_mode) == 0o600
    assert [path.name for path in there.iterdir() if "secret" in path.name] == ["secret-key"]


def test_the_port_for_events_is_free() -> None:
    found = free_port("127.0.0.1", other=8000)
    assert port_is_free("127.0.0.1", found)
    with socket.create_server(("127.0.0.1", found)):
        assert free_port("127.0.0.1", other=8000) != found


@pytest.mark.django_db
@pytest.mark.slow
def test_example_agents_are_uploaded_once(tmp_path: Path, settings: Settings) -> None:
    settings.MEDIA_ROOT = tmp_path
    environment = tic_tac_toe()
    owner = User.objects.create(email="demo@arena.example", username="demo")
    said = list[str]()
    assert examples_upload(owner, [environment], said.append) == untrained("tic-tac-toe")
    assert examples_upload(owner, [environment], said.append) == 0
    assert said[1] == "Example agents of Tic-tac-toe: already uploaded."
    assert Agent.objects.count() == untrained("tic-tac-toe")


@pytest.mark.django_db
def test_everything_is_built_again_when_the_sandbox_is_another(tmp_path: Path) -> None:
    upload(tic_tac_toe(), "first", FIRST)
    assert images_follow_sandbox(tmp_path / "sandbox", "docker") == 0
    assert images_follow_sandbox(tmp_path / "sandbox", "docker") == 0
    assert images_follow_sandbox(tmp_path / "sandbox", "process") == 1
    assert Build.objects.count() == 2


@pytest.mark.django_db
def test_progress_counts_what_is_over_and_names_failures() -> None:
    environment = tic_tac_toe()
    failed = upload(environment, "first", FIRST)
    upload(environment, "last", LAST)
    factories.moved(failed.builds.all(), JobState.FAILED, error="no such package")
    assert stages([environment]) == "built 1/2"
    assert list(failures([environment])) == ["Failed: build of first v1 in Tic-tac-toe: no such package"]
    assert leaderboard(environment) is None


@pytest.mark.django_db
def test_the_leaderboard_is_a_line_once_all_is_over(settings: Settings) -> None:
    settings.SITE_URL = "http://127.0.0.1:8000"
    environment = tic_tac_toe()
    submission = upload(environment, "first", FIRST)
    Tournament.objects.create(environment=environment, edition=3)
    factories.rating(submission, 1234.4)
    factories.moved(submission.builds.all(), JobState.SUCCEEDED)
    assert leaderboard(environment) is None
    # A running edition has ratings that are not the last ones.
    Tournament.objects.update(state="FINISHED", started_at=timezone.now(), ended_at=timezone.now())
    shown = "Tic-tac-toe: 1. first v1 (1234). http://127.0.0.1:8000/environments/tic-tac-toe/"
    assert leaderboard(environment) == shown
    upload(environment, "last", LAST)
    assert leaderboard(environment) is None


@pytest.mark.django_db
def test_the_board_of_a_task_is_a_line() -> None:
    submission = factories.ready(factories.agent(factories.user("ann"), factories.task()))
    environment = submission.agent.environment
    factories.evaluation(submission)
    assert str(leaderboard(environment)).startswith(f"{environment}: 1. {submission} (25.00). ")


@pytest.mark.django_db
@pytest.mark.slow
def test_example_agents_for_tasks_are_uploaded_once_and_those_that_learn_have_learned(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT, settings.DATA_DIR = tmp_path / "files", tmp_path
    monkeypatch.setitem(SCORED, "FrozenLake-v1", ("dummy", "q_learning"))
    trained: list[str] = []

    def make(player: str, environment: str, *, train: bool, quiet: bool, store: Path) -> bytes:
        trained.append(player)
        assert (environment, train, quiet, store) == ("frozen-lake", True, True, tmp_path / "examples")
        return zip_of(FIRST + f"# {player}")

    monkeypatch.setattr("core.demo.agents.make_archive", make)
    environment, _ = environment_sync(spec=get_spec("frozen-lake"))
    owner, said = User.objects.create(email="demo@arena.example", username="demo"), list[str]()
    assert examples_upload(owner, [environment], said.append) == 2
    assert (trained, said[0]) == (["dummy", "q_learning"], "q-learning learns FrozenLake ...")
    assert examples_upload(owner, [environment], said.append) == 0
    assert set(Agent.objects.values_list("name", flat=True)) == {"dummy", "q-learning"}


@pytest.mark.django_db
def test_the_demo_goes_on_with_its_application_as_far_as_it_is(settings: Settings) -> None:
    settings.ROLLOUTS, settings.SITE_URL = "members", "http://127.0.0.1:8000"
    owner, said = factories.user("demo"), list[str]()
    demo = ApplicationDemo(applications.organiser(), owner, said.append)
    demo.follow()
    demo.follow()
    package = Package.objects.get(environment__slug="shop")
    assert len(said) == 1
    applications.built(package)
    demo.follow()
    batch = Batch.objects.get(owner=owner, purpose="ASKED")
    assert Agent.objects.get().name == "shop-clerk"
    assert f"http://127.0.0.1:8000/batches/{batch.public_id}/" in said[1]
    first, *others = batch.rollouts.order_by("pk")
    applications.finished(first, "NOT_SOLVED")
    Rollout.objects.filter(pk__in=[other.pk for other in others[1:]]).delete()
    applications.finished(others[0])
    # As after another start.
    ApplicationDemo(applications.organiser(), owner, said.append).follow()
    assert said[2].startswith(
        "Application: the script has solved 1 of 2 tasks: http://127.0.0.1:8000/environments/shop/"
    )
    assert (Package.objects.count(), Agent.objects.count()) == (1, 1)


def test_a_demo_without_the_images_of_applications_says_which_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(names: dict[str, str]) -> dict[str, str]:
        if "rl-arena-browser" in names:
            raise PlatformFault("The image is not on this engine.", code="image_missing")
        return names

    monkeypatch.setattr("core.demo.application.base_images", found)
    assert images_missing() == "the image rl-arena-browser is not here"


def test_a_child_that_ignores_the_request_to_stop_is_killed(tmp_path: Path) -> None:
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); signal.pause()"
    child = Child("deaf", [sys.executable, "-c", stubborn + "; signal.pause()"], log_path=tmp_path / "log")
    while "deaf" not in child.last_lines():
        assert child.is_running
    child.stop(grace_seconds=0.1)
    assert not child.is_running


def test_a_port_with_a_listener_is_not_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert not port_is_free("127.0.0.1", taken.getsockname()[1])
