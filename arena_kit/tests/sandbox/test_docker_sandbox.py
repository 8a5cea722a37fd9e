"""Containers start and end as asked: they leave nothing behind, pull nothing, and the right side is at fault."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest
import requests
from django.conf import settings
from docker.errors import APIError, NotFound

from arena_kit.environment.spec import Limits
from arena_kit.sandbox.base import Launch, PlayerDidNotStart, SandboxError, SandboxUnavailable
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.sandbox.docker_box import container_remove
from arena_kit.sandbox.ending import Ending
from arena_kit.tests.arenas import until
from arena_kit.tests.docker_probes import ENDS, READY, SLEEPER

NAME = f"arena-test-sandbox-{os.getpid()}"
"""Names and labels are of this process: others may run tests of this module at the same time."""
LABEL = f"arena.test-claim-{os.getpid()}"
LIMITS = Limits(memory_limit_bytes=256 << 20, start_seconds=60.0)


@pytest.fixture
def channels() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def engine() -> Iterator[docker.DockerClient]:
    client = docker.from_env(timeout=60)
    yield client
    for container in client.containers.list(all=True, filters={"label": LABEL}):
        container.remove(force=True)
    client.close()


@pytest.fixture
def sandbox(channels: Path, monkeypatch: pytest.MonkeyPatch) -> DockerSandbox:
    # So long a player that still runs is waited for.
    monkeypatch.setattr("arena_kit.sandbox.slots.EXIT_SECONDS", 0.5)
    return DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=channels)


@pytest.fixture
def player(tmp_path: Path) -> Path:
    return folder_of(tmp_path, READY)


def folder_of(tmp_path: Path, source: str) -> Path:
    folder = tmp_path / "player"
    folder.mkdir()
    (folder / "player.py").write_text(source)
    return folder


def launch(player: Path, name: str = NAME, claim: str = "a", limits: Limits = LIMITS) -> Launch:
    return Launch(f"folder:{player}", name, limits, {LABEL: claim})


@pytest.mark.docker
def test_a_player_connects_and_leaves_nothing_when_closed(
    sandbox: DockerSandbox, player: Path, engine: docker.DockerClient, channels: Path
) -> None:
    sandbox.check()
    container = sandbox.launch(launch(player))
    assert container.ending() is Ending.RUNNING
    attributes = engine.containers.get(NAME).attrs
    assert attributes["Config"]["Labels"][LABEL] == "a"
    assert attributes["HostConfig"]["LogConfig"]["Type"] == "none"
    container.raise_if_paused()
    engine.containers.get(NAME).pause()
    with pytest.raises(SandboxError) as caught:
        container.raise_if_paused()
    assert caught.value.code == "container_paused"
    engine.containers.get(NAME).unpause()

    container.close()
    container.close()

    with pytest.raises(NotFound):
        engine.containers.get(NAME)
    assert list(channels.iterdir()) == []


@pytest.mark.docker
def test_the_end_of_a_running_player_is_told_with_its_log(sandbox: DockerSandbox, player: Path) -> None:
    container = sandbox.launch(launch(player))
    try:
        # The player server ends when the referee hangs up.
        container.wire.close()
        assert until(lambda: container.ending() is Ending.EXITED)
        assert container.log() == "ready\n"
    finally:
        container.close()


ENDS_ON_A_PUSH = ("raises", "kills all")


@pytest.mark.docker
@pytest.mark.parametrize(
    "source",
    [
        pytest.param(source, id=name, marks=() if name in ENDS_ON_A_PUSH else pytest.mark.nightly)
        for name, source in ENDS.items()
    ],
)
def test_a_player_that_ends_at_its_start_is_to_blame_itself(
    source: str, sandbox: DockerSandbox, tmp_path: Path, channels: Path, engine: docker.DockerClient
) -> None:
    with pytest.raises(PlayerDidNotStart) as caught:
        sandbox.launch(launch(folder_of(tmp_path, source)))

    assert caught.value.ending in {Ending.EXITED, Ending.KILLED}
    assert list(channels.iterdir()) == []
    assert engine.containers.list(all=True, filters={"label": LABEL}) == []


@pytest.mark.docker
def test_a_player_that_is_not_ready_in_time_is_stopped(sandbox: DockerSandbox, tmp_path: Path) -> None:
    with pytest.raises(PlayerDidNotStart, match=r"not ready within 4 s") as caught:
        sandbox.launch(launch(folder_of(tmp_path, SLEEPER), limits=replace(LIMITS, start_seconds=4.0)))

    assert (caught.value.ending, caught.value.log) == (Ending.RUNNING, "asleep\n")


@pytest.mark.docker
def test_only_what_no_live_claim_holds_is_reaped_and_a_second_container_of_one_name_is_refused(
    sandbox: DockerSandbox, player: Path, engine: docker.DockerClient, channels: Path
) -> None:
    live = sandbox.launch(launch(player, f"{NAME}-1", "live"))
    dead = sandbox.launch(launch(player, f"{NAME}-2", "dead"))
    try:
        with pytest.raises(SandboxError) as caught:
            sandbox.launch(launch(player, f"{NAME}-1", "live"))
        assert caught.value.code == "name_taken"
        assert live.ending() is Ending.RUNNING
        assert len(list(channels.iterdir())) == 2
        assert sandbox.reap(LABEL, lambda: frozenset({"live"})) == 1
        assert [container.name for container in engine.containers.list(filters={"label": LABEL})] == [f"{NAME}-1"]
        assert len(list(channels.iterdir())) == 1
        assert sandbox.reap(LABEL, lambda: frozenset({"live"})) == 0
    finally:
        live.close()
        dead.close()


@pytest.mark.docker
@pytest.mark.parametrize("image", ["rl-arena-no-such-image:1", "folder:/nonexistent/player"])
def test_a_missing_image_is_the_platforms_trouble_and_never_pulled(
    image: str, sandbox: DockerSandbox, channels: Path
) -> None:
    with pytest.raises(SandboxError) as caught:
        sandbox.launch(Launch(image, NAME, LIMITS, {LABEL: "a"}))

    assert caught.value.code == "image_missing"
    assert list(channels.iterdir()) == []


@pytest.mark.docker
def test_a_folder_that_players_may_not_read_is_refused_with_what_to_do(sandbox: DockerSandbox, player: Path) -> None:
    player.chmod(0o700)

    with pytest.raises(SandboxError, match=r"chmod -R o\+rX"):
        sandbox.launch(launch(player))


@pytest.mark.docker
def test_a_runtime_that_the_engine_lacks_is_refused(channels: Path) -> None:
    sandbox = DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=channels, runtime="no-such-runtime")

    with pytest.raises(SandboxUnavailable, match="no runtime no-such-runtime"):
        sandbox.check()


def test_an_engine_that_does_not_answer_is_named(
    sandbox: DockerSandbox, player: Path, channels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")

    for call in (sandbox.check, lambda: sandbox.launch(launch(player)), lambda: sandbox.reap(LABEL, frozenset)):
        with pytest.raises(SandboxUnavailable) as caught:
            call()
        assert caught.value.code == "engine_unavailable"
    assert list(channels.iterdir()) == []


def test_an_engine_that_is_slow_to_remove_a_container_is_asked_again() -> None:
    class Slow:
        """A fake container: its first removal times out, and the second says that the removal is under way."""

        calls = 0

        def remove(self, *, force: bool) -> None:
            self.calls += 1
            if self.calls == 1:
                raise requests.ReadTimeout
            response = requests.Response()
            response.status_code = 409
            raise APIError("removal is already in progress", response)

    slow = Slow()
    container_remove(slow)
    assert slow.calls == 2
