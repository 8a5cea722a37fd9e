"""Scripts in containers: control groups, packages of the image, and leftovers of a dead worker."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest
from django.conf import settings

from arena_kit.referee.script import ScriptFailure, ScriptFault, ScriptScore, run_script
from arena_kit.sandbox.base import SandboxError
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.scripts import ScriptLaunch
from arena_kit.tests.arenas import COUNTER, LABEL, Arena
from arena_kit.tests.scripts import FINE, LIMITS, Scripts

pytestmark = pytest.mark.docker
CGROUP = """
import json, os
def first(*paths):
    return next(open(path).read().strip() for path in paths if os.path.exists(path))
root = "/sys/fs/cgroup"
if os.path.exists(root + "/cpu.max"):
    quota = [int(word) for word in first(root + "/cpu.max").split()]
else:
    quota = [int(first(root + "/cpu/cpu.cfs_quota_us")), int(first(root + "/cpu/cpu.cfs_period_us"))]
metrics = {
    "cpus": quota[0] / quota[1],
    "memory": int(first(root + "/memory.max", root + "/memory/memory.limit_in_bytes")),
    "pids": int(first(root + "/pids.max", root + "/pids/pids.max")),
    "oom_score": int(first("/proc/self/oom_score_adj")),
}
print(json.dumps({"score": 1, "metrics": metrics}))
"""
SHADOWS = """
FROM {base}
COPY packages /opt/requirements
COPY player /player
"""


@pytest.fixture
def scripts() -> Iterator[Scripts]:
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    folder.chmod(0o755)
    channels = folder / "c"
    channels.mkdir(mode=0o711)
    yield Scripts(Arena(DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=channels), folder, channels))
    shutil.rmtree(folder)


@pytest.fixture
def no_container_is_left() -> Iterator[None]:
    yield
    client = docker.from_env(timeout=60)
    try:
        assert client.containers.list(all=True, filters={"label": f"{LABEL}=script"}) == []
    finally:
        client.close()


def test_a_script_sees_the_quota_of_its_control_group(scripts: Scripts, no_container_is_left: None) -> None:
    assert scripts.score(CGROUP).metrics == {"cpus": 0.5, "memory": 512 << 20, "pids": 50, "oom_score": 1000}


def test_a_script_that_fills_tmp_meets_its_end_and_may_go_on(scripts: Scripts) -> None:
    source = (
        "import errno\n"
        "size = 0\n"
        "try:\n"
        "    with open('big', 'wb', 0) as file:\n"
        "        while True: size += file.write(b'x' * (1 << 20))\n"
        "except OSError as error: print(errno.errorcode[error.errno])\n"
        """print('{"score": %d}' % (size >> 20))\n"""
    )
    run = scripts.run(source, limits=replace(LIMITS, file_limit_bytes=1 << 30))

    assert run.end.log.startswith("ENOSPC\n")
    assert isinstance(run.verdict, ScriptScore)
    assert 60 <= run.verdict.score <= 64


def test_many_small_processes_use_up_the_memory_and_the_supervisor_tells(
    scripts: Scripts, no_container_is_left: None
) -> None:
    source = FINE + (
        "import os, time\n"
        "for _ in range(40):\n"
        "    if os.fork() == 0:\n"
        "        x = b'y' * (6 << 20)\n"
        "        time.sleep(60)\n"
        "os.wait()\n"
        "os._exit(5)\n"
    )
    run = scripts.run(source, limits=replace(LIMITS, memory_limit_bytes=128 << 20))

    assert isinstance(run.verdict, ScriptFailure)
    assert (run.verdict.code, run.end.ending) == (ScriptFault.OUT_OF_MEMORY, Ending.OUT_OF_MEMORY)
    # The supervisor lives and tells how the script ended.
    assert run.end.exit_status in {5, -9}


def test_a_script_that_goes_on_without_a_child_that_was_too_large_has_its_score(scripts: Scripts) -> None:
    source = (
        "import os\n"
        "if os.fork() == 0:\n"
        "    x = bytearray()\n"
        "    while True: x += b'y' * (8 << 20)\n"
        "print(os.wait()[1], flush=True)\n"
    )
    run = scripts.run(source + FINE, limits=replace(LIMITS, memory_limit_bytes=128 << 20))

    assert (run.verdict, run.end.log.partition("\n")[0]) == (ScriptScore(9.0), "9")


def test_a_script_of_a_dead_worker_is_reaped_by_its_label(scripts: Scripts, no_container_is_left: None) -> None:
    launch = scripts.prepare("import time\nprint('asleep', flush=True)\ntime.sleep(60)")

    def watch(printed: str) -> None:
        if printed:
            assert scripts.sandbox.reap(LABEL, frozenset) >= 1

    with pytest.raises(SandboxError) as caught:
        run_script(scripts.sandbox, launch, on_output=watch)
    assert caught.value.code == "container_removed"
    assert list(scripts.arena.channels.iterdir()) == []


def test_a_missing_image_is_the_platforms_fault(scripts: Scripts) -> None:
    with pytest.raises(SandboxError) as caught:
        run_script(scripts.sandbox, replace(scripts.prepare(FINE), image="arena-no-such-image"))
    assert caught.value.code == "image_missing"


def test_packages_of_the_image_win_over_the_base_but_not_over_the_standard_library(
    scripts: Scripts, tmp_path: Path
) -> None:
    trap = "raise SystemExit('the trap ran')\n"
    packages = {"enum.py": trap, "sitecustomize.py": trap, "trap.pth": "import enum", "pip.py": "WHERE = __file__\n"}
    for folder in ("packages", "player"):
        (tmp_path / folder).mkdir()
    for name, text in packages.items():
        (tmp_path / "packages" / name).write_text(text)
    (tmp_path / "player" / "submission.py").write_text(
        "import enum, subprocess, sys\n"
        "import pip\n"
        "print(pip.WHERE, flush=True)\n"
        "subprocess.run([sys.executable, '-c', 'import pip; print(pip.WHERE)'], check=True)\n" + FINE
    )
    (tmp_path / "Dockerfile").write_text(SHADOWS.format(base=settings.PLAYER_BASE_IMAGE))
    client = docker.from_env(timeout=60)
    image = f"{settings.PLAYER_IMAGE_PREFIX}:script"
    client.images.build(path=str(tmp_path), tag=image, network_mode="none", rm=True)
    client.close()
    name = f"arena-script-{os.getpid()}-{next(COUNTER)}"

    run = run_script(scripts.sandbox, ScriptLaunch(image, name, "CartPole-v1", LIMITS, {LABEL: "script"}))

    assert run.end.log == "/opt/requirements/pip.py\n" * 2 + '{"score": 9}\n'
