"""A hostile player in a real container tries every protection from inside."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest
from django.conf import settings

from arena_kit.sandbox.docker import PIDS_LIMIT, DockerSandbox
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.probes import LABEL, PROBE, end_of, probe_results
from arena_kit.sandbox.probes.bombs import BOMBS, LIMITS, PROCESS_BOMB, Bomb
from arena_kit.sandbox.probes.walls import SOCKETS, WALLS, Result, Wall, judge
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.sandbox.startup import FIRST_PLAYER_UID, PLAYER_UID_COUNT
from arena_kit.tests.docker_probes import FORK_BOMB

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def channels() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def sandbox(channels: Path) -> DockerSandbox:
    return DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=channels)


@pytest.fixture(scope="module")
def results(sandbox: DockerSandbox, channels: Path) -> dict[str, Result]:
    """Return the results of the probes inside the sandbox."""
    found = probe_results(sandbox, channels)
    assert list(channels.iterdir()) == []
    return found


def test_numpy_threads_processes_and_local_sockets_work(results: dict[str, Result]) -> None:
    working = {
        "numpy": 8_000_000, "threads": 8, "subprocess": "42", "asyncio": "awake", "unix_sockets": "x",
        "temporary_file": 1,
    }  # fmt: skip

    assert {name: results[name] for name in working} == {name: {"done": value} for name, value in working.items()}


@pytest.mark.parametrize("wall", WALLS, ids=lambda wall: f"{wall.protection}: {wall.tried}")
def test_a_wall_holds(wall: Wall, results: dict[str, Result]) -> None:
    finding = wall.judge(results)

    assert finding.held, finding.happened


def test_silence_counts_as_an_open_wall() -> None:
    assert [finding.tried for finding in judge({}, own_kernel=False) if finding.held] == []


def test_the_player_runs_as_one_of_the_users_kept_for_players(results: dict[str, Result]) -> None:
    (uid,) = set(results["uid"]["done"])
    assert FIRST_PLAYER_UID <= uid < FIRST_PLAYER_UID + PLAYER_UID_COUNT
    assert set(results["groups"]["done"]) <= {uid}


def test_the_container_tells_nothing_of_the_host(results: dict[str, Result]) -> None:
    assert results["hostname"] == {"done": "player"}
    assert not [name for name in results["environment"]["done"] if name.startswith(("ARENA", "PIP", "DOCKER"))]


def test_the_probes_do_see_open_doors_in_an_ordinary_container(results: dict[str, Result]) -> None:
    client = docker.from_env(timeout=60)
    try:
        output = client.containers.run(
            settings.PLAYER_BASE_IMAGE, ["python3", "-c", PROBE], network_disabled=True, remove=True, mem_limit="512m",
            tmpfs={"/tmp": "exec,mode=1777,size=400m"}, pids_limit=PIDS_LIMIT, security_opt=["seccomp=unconfined"],
        )  # fmt: skip
    finally:
        client.close()
    ordinary: dict[str, Result] = json.loads(output)

    assert ordinary.keys() >= results.keys() - {"tmp_bytes_end", "tmp_files_end", "one_file_end", "open_files_end"}
    opened = {wall.probe for wall in WALLS if not wall.judge(ordinary).held}
    assert opened >= {
        "uid", "CapEff", "no_new_privs", "seccomp", "setuid_program", *SOCKETS[:4], "unshare_user", "clone_user",
        "keyctl", "io_uring_setup", "ptrace", "process_vm_readv", "mq_open", "shmget", "inotify_init1", "flock",
        "int_80", "write /", "write /usr/", "write /dev/shm/", "run_from_tmp", "tmp_bytes", "tmp_files", "one_file",
        "open_files", "cores", "raise_open_files",
    }  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: f"{bomb.protection}: {bomb.tried}")
def test_a_bomb_meets_its_limit(bomb: Bomb, sandbox: DockerSandbox, channels: Path) -> None:
    finding = bomb.judge(end_of(sandbox, channels, bomb.source))

    assert finding.held, finding.happened


def test_a_bomb_that_meets_no_limit_is_told(channels: Path) -> None:
    free = ProcessSandbox(channels)
    (processes,) = (bomb for bomb in BOMBS if bomb.source == PROCESS_BOMB)

    finding = processes.judge(end_of(free, channels, processes.source))

    assert (finding.held, finding.happened.rpartition(": ")[2]) == (False, "forked 499")


@pytest.mark.nightly
def test_a_fork_bomb_is_contained_and_removed(sandbox: DockerSandbox, channels: Path) -> None:
    end = end_of(sandbox, channels, FORK_BOMB, replace(LIMITS, start_seconds=10.0))

    assert end.ending is Ending.RUNNING
    assert "forking" in end.log
    client = docker.from_env(timeout=60)
    try:
        assert client.containers.list(all=True, filters={"label": LABEL}) == []
    finally:
        client.close()
