"""Processes that count together, as they are born, forked and killed."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from core.monitoring.exposition import serve

ROOT = Path(__file__).resolve().parents[3]
PROLOGUE = """
import os, signal, sys
from pathlib import Path
from core.monitoring.count_files import count_in
count_in(Path(sys.argv[1]))
from prometheus_client import Counter
counted = Counter("things", "Things.", ["kind"])
"""
COUNT_AND_DIE = PROLOGUE + "counted.labels('a').inc(); os.kill(os.getpid(), signal.SIGKILL)"
LIVE = PROLOGUE + "counted.labels('a').inc(100); print('ready', flush=True); sys.stdin.read()"
FORK = (
    PROLOGUE
    + """
counted.labels('a').inc()
children = []
for _ in range(3):
    if (child := os.fork()) == 0:
        counted.labels('a').inc(10)
        # Both at once: none may take the other's place.
        os.kill(os.getpid(), signal.SIGSTOP)
        counted.labels('a').inc(10)
        os._exit(0)
    children.append(child)
    os.waitpid(child, os.WUNTRACED)
print(len(list(Path(sys.argv[1]).glob('counter_*.db'))))
for child in children:
    os.kill(child, signal.SIGCONT)
    os.waitpid(child, 0)
"""
)


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


def total(folder: Path) -> float | None:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(folder))  # type: ignore[no-untyped-call]  # the library's
    return registry.get_sample_value("things_total", {"kind": "a"})


def test_what_dead_processes_have_counted_stays_and_their_successors_count_on(tmp_path: Path) -> None:
    alive = subprocess.Popen(
        [sys.executable, "-c", LIVE, str(tmp_path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert alive.stdout is not None
        assert alive.stdout.readline() == b"ready\n"
        for _ in range(3):
            assert run(COUNT_AND_DIE, tmp_path).returncode == -9
        assert total(tmp_path) == 103
        # As many as have lived at once, not as many as have lived.
        assert len(list(tmp_path.glob("counter_*.db"))) == 2
    finally:
        alive.communicate(timeout=60)
    # No process lives, so the next one is a program that was started anew.
    run(COUNT_AND_DIE, tmp_path)
    assert total(tmp_path) == 1


def test_a_forked_process_counts_in_a_file_of_its_own(tmp_path: Path) -> None:
    ended = run(FORK, tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "4\n", "")
    assert total(tmp_path) == 61


def test_workers_whose_port_is_taken_go_on_without(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("", 0)) as other:
        assert serve(other.getsockname()[1]) is None
    assert "METRICS_PORT" in caplog.text


def test_a_folder_of_another_user_is_not_used(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    theirs.chmod(0o777)
    ended = run(PROLOGUE + "counted.labels('a').inc(); print(os.environ['PROMETHEUS_MULTIPROC_DIR'])", theirs)
    assert ended.returncode == 0
    assert "METRICS_DIR cannot be used" in ended.stderr
    assert list(theirs.iterdir()) == []
    used = Path(ended.stdout.strip())
    assert total(used) == 1
    for path in used.iterdir():
        path.unlink()
    used.rmdir()


@pytest.mark.parametrize("damage", [b"\xff" * 65536, b"short"])
def test_a_damaged_file_is_gone_with_the_next_start(tmp_path: Path, damage: bytes) -> None:
    run(COUNT_AND_DIE, tmp_path)
    for path in tmp_path.glob("*.db"):
        path.write_bytes(damage)
    assert run(COUNT_AND_DIE, tmp_path).returncode == -9
    assert total(tmp_path) == 1
