"""Under gVisor duels are played, and the protections hold, too."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from django.conf import settings

from arena_kit.environment.records import Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import Limits
from arena_kit.referee.play import run_duel
from arena_kit.referee.script import ScriptScore, run_script
from arena_kit.sandbox.base import Launch, SandboxError
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.probes import check_sandbox
from arena_kit.sandbox.scripts import ScriptLaunch, ScriptLimits
from arena_kit.tests.arenas import until
from arena_kit.tests.playing import GOOD, folders, player
from arena_kit.tests.scripts import FORKS

pytestmark = [pytest.mark.docker, pytest.mark.gvisor, pytest.mark.nightly]
LIMITS = Limits(memory_limit_bytes=256 << 20, start_seconds=60.0)


@pytest.fixture
def channels() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def sandbox(channels: Path) -> DockerSandbox:
    sandbox = DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=channels, runtime="runsc")
    sandbox.check()
    return sandbox


def test_a_duel_is_played_and_a_raising_player_loses(sandbox: DockerSandbox, channels: Path) -> None:
    spec = get_spec("connect-four-v1")
    numbers = itertools.count(1)
    with folders(GOOD, player(step="raise ValueError('no idea')")) as found:
        played = run_duel(
            spec,
            lambda index: sandbox.launch(
                Launch(f"folder:{found[index]}", f"arena-gvisor-{os.getpid()}-{next(numbers)}", LIMITS, {}, core=0)
            ),
            names=("good", "raising"),
            seed=1,
            match_count=10,
            parallel_matches=4,
            limits=LIMITS,
            clock=time.monotonic,
            on_progress=lambda _: None,
        )

    assert len(played.record.matches) == 10
    assert {match.outcome for match in played.record.matches} == {Outcome.PLAYER_1}
    assert "no idea" in played.record.matches[0].error
    assert list(channels.iterdir()) == []


def test_a_script_gets_its_processes_and_no_more(sandbox: DockerSandbox, channels: Path) -> None:
    with folders({"submission.py": FORKS}) as (folder,):
        name = f"arena-gvisor-{os.getpid()}-script"
        run = run_script(sandbox, ScriptLaunch(f"folder:{folder}", name, "CartPole-v1", ScriptLimits(), {}))

    # The script and its supervisor count among the fifty.
    assert run.verdict == ScriptScore(48.0)
    assert list(channels.iterdir()) == []


def test_the_walls_hold_under_a_kernel_that_is_not_the_hosts(sandbox: DockerSandbox, channels: Path) -> None:
    findings = check_sandbox(sandbox, channels, thorough=True, own_kernel=True)

    assert [finding for finding in findings if not finding.held] == []
    assert "gVisor" in {finding.protection for finding in findings}


@pytest.mark.parametrize("is_outside", [True, False], ids=["from outside", "by its player"])
def test_who_has_ended_a_container_is_told_apart(sandbox: DockerSandbox, channels: Path, is_outside: bool) -> None:
    mutiny = "import os, signal, time\nif os.fork() == 0:\n    time.sleep(3)\n    os.kill(1, signal.SIGKILL)\n"
    name = f"arena-gvisor-{os.getpid()}-ended"
    with folders(GOOD if is_outside else mutiny + GOOD, GOOD) as found:
        container = sandbox.launch(Launch(f"folder:{found[0]}", name, LIMITS, {}, fresh=True))
        try:
            if is_outside:
                engine = docker.from_env(timeout=60)
                engine.containers.get(name).kill()
                engine.close()
                with pytest.raises(SandboxError) as caught:
                    container.ending()
                assert caught.value.code == "container_killed"
            else:
                assert until(lambda: container.ending() is not Ending.RUNNING)
        finally:
            container.close()
