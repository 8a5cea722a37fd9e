"""Script submissions on every sandbox: what they find, what they may do, and that they leave nothing behind."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from arena_kit.referee.script import ScriptFailure, ScriptFault, ScriptRun, ScriptScore, run_script
from arena_kit.sandbox import process
from arena_kit.sandbox.base import SandboxError
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.sandbox.scripts import IDLE, ScriptLaunch
from arena_kit.sandbox.startup import player_uid
from arena_kit.tests.arenas import COUNTER, until
from arena_kit.tests.playing import folders
from arena_kit.tests.sandbox.test_sandbox_contract import running
from arena_kit.tests.scripts import FINE, FORKS, LIMITS, Scripts

SHORT = replace(LIMITS, seconds=2.0)


class Seen(Exception):
    """Raised by `watch` to end a script."""


def pids(command: str) -> list[int]:
    """Return the processes on this host, including those in containers, with this command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes() == command.encode():
                found.append(int(path.parent.name))
    return found


def test_a_script_is_run_as_documented_and_its_score_read(scripts: Scripts) -> None:
    source = (
        "import helper, json, os, sys\n"
        "print(sys.argv, open('weights.txt').read(), sys.orig_argv[1:], file=sys.stderr)\n"
        "open('notes.txt', 'w').write('mine')\n"
        "print(json.dumps({'score': helper.SCORE, 'metrics': {'length': 7}, 'episodes': 3}))\n"
    )
    run = scripts.run(source, files={"helper.py": "SCORE = 12.5\n", "weights.txt": "0.25"})

    assert run.verdict == ScriptScore(12.5, {"length": 7.0}, 3)
    assert "['submission.py', 'CartPole-v1'] 0.25 ['-u', 'submission.py', 'CartPole-v1']\n" in run.end.log
    assert (run.end.ending, run.end.exit_status) == (Ending.EXITED, 0)
    assert run.end.wall_seconds > 0
    assert run.end.cpu_seconds is not None
    assert run.end.cpu_seconds > 0


@pytest.mark.containers_nightly
def test_the_observer_sees_the_output_come_and_can_end_the_script(scripts: Scripts) -> None:
    word = f"86401.{os.getpid()}{next(COUNTER)}"
    launch = scripts.prepare(f"import os\nprint('begun', flush=True)\nos.execvp('sleep', ['sleep', '{word}'])")
    seen: list[str] = []

    def watch(printed: str) -> None:
        seen.append(printed)
        if "begun" in printed and running(word):
            raise Seen

    with pytest.raises(Seen):
        run_script(scripts.sandbox, launch, on_output=watch)
    assert seen[-1].strip() == "begun"
    assert until(lambda: running(word) == [])
    assert list(scripts.arena.channels.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ("import sys; sys.exit(3)", ScriptFault.FAILED, "exit status 3"),
        ("1 / 0", ScriptFault.FAILED, "ZeroDivisionError"),
        ("x = = 1", ScriptFault.FAILED, "SyntaxError"),
        ("import os; os.kill(os.getpid(), 11)", ScriptFault.KILLED, "SIGSEGV"),
        ("import os; os.abort()", ScriptFault.KILLED, "SIGABRT"),
        ("import os; os.execvp('sleep', ['sleep', 'abc'])", ScriptFault.FAILED, "sleep"),
    ],
)
@pytest.mark.containers_nightly
def test_a_score_of_a_script_that_ends_badly_does_not_count(
    scripts: Scripts, source: str, code: ScriptFault, said: str
) -> None:
    found = scripts.failure(FINE + source if "=" not in source else source)

    assert (found.code, said in found.error) == (code, True), found.error


@pytest.mark.containers_nightly
def test_a_script_without_submission_py_says_what_is_missing(scripts: Scripts) -> None:
    launch = scripts.prepare("")
    Path(launch.image.removeprefix("folder:"), "submission.py").rename(
        Path(launch.image.removeprefix("folder:"), "train.py")
    )
    verdict = scripts.run_prepared(launch).verdict

    assert isinstance(verdict, ScriptFailure)
    assert "submission.py" in verdict.error


def test_a_script_that_never_ends_is_ended_with_all_its_processes(scripts: Scripts) -> None:
    word = f"86402.{os.getpid()}{next(COUNTER)}"
    run = scripts.run(
        FINE + "import os\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    os.execvpe('sleep', ['sleep', '{word}'], {{'PATH': '/usr/bin:/bin'}})\n"
        "while True: pass",
        limits=SHORT,
    )

    assert isinstance(run.verdict, ScriptFailure)
    assert (run.verdict.code, run.end.ending, run.end.exit_status) == (ScriptFault.TIMED_OUT, Ending.TIMED_OUT, None)
    assert running(word) == []


def test_what_outlives_its_script_is_ended_and_cannot_print_any_more(scripts: Scripts) -> None:
    word = f"86403.{os.getpid()}{next(COUNTER)}"
    source = (
        "import os, sys, time\n"
        "reader, writer = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.environ.clear()\n"
        "        os.write(1, b'alive\\n')\n"
        "        os.write(writer, b'x')\n"
        f"        line = 'sleep 30; echo late; exec sleep {word}'\n"
        "        os.execvpe('sh', ['sh', '-c', line], {'PATH': '/usr/bin:/bin'})\n"
        "    os._exit(0)\n"
        "os.read(reader, 1)\n"
    )
    run = scripts.run(source + FINE)

    assert run.verdict == ScriptScore(9.0)
    assert "alive" in run.end.log
    assert "late" not in run.end.log
    assert running(word) == []


@pytest.mark.containers_nightly
def test_a_flood_of_output_is_kept_to_its_limit_and_only_its_end(scripts: Scripts) -> None:
    limits = replace(LIMITS, log_limit_bytes=10_000)
    run = scripts.run(
        "import os\nprint('first')\nfor _ in range(800): os.write(1, b'x' * 65536)\nprint()\n" + FINE, limits=limits
    )

    assert run.verdict == ScriptScore(9.0)
    assert run.end.log.startswith("[52418820 bytes cut]xxx")
    assert "first" not in run.end.log
    assert len(run.end.log) <= 10_000 + 64


@pytest.mark.containers_nightly
def test_an_endless_line_is_no_score_even_if_its_end_looks_like_one(scripts: Scripts) -> None:
    limits = replace(LIMITS, log_limit_bytes=10_000)
    flood = "import os\nfor _ in range(400): os.write(1, b'x' * 65536)\n"
    line = """os.write(1, b'{"score": 6}'.rjust(10_000 - 12) + b'{"score": 6}')\n"""

    assert scripts.failure(flood + line, limits=limits).code is ScriptFault.NO_SCORE


@pytest.mark.slow
@pytest.mark.containers_nightly
def test_a_flood_without_end_meets_the_time_limit(scripts: Scripts) -> None:
    found = scripts.failure("import os\nwhile True: os.write(2, b'x' * 65536)", limits=SHORT)

    assert found.code is ScriptFault.TIMED_OUT


@pytest.mark.containers_nightly
def test_a_script_that_closes_its_outputs_is_waited_for(scripts: Scripts) -> None:
    run = scripts.run(FINE + "import os, time\nos.close(1); os.close(2)\ntime.sleep(1)\nos._exit(4)")

    assert (run.end.exit_status, run.end.wall_seconds >= 1) == (4, True)


@pytest.mark.usefixtures("namespaces")
def test_a_fork_bomb_ends_with_its_time(scripts: Scripts) -> None:
    bomb = FINE + "import os\nwhile True:\n    try:\n        os.fork(); os.setsid()\n    except OSError: pass"
    found = scripts.failure(bomb, limits=SHORT)

    assert found.code is ScriptFault.TIMED_OUT
    name = str(scripts.arena.folder)
    assert until(lambda: running(name) == [])


@pytest.mark.usefixtures("namespaces")
def test_no_more_processes_than_allowed_run_at_once_and_those_of_another_script_are_not_charged(
    scripts: Scripts,
) -> None:
    # The greedy script keeps all that it got.
    sources = (FORKS + "\nprint(flush=True)\ntime.sleep(60)", "import os\nprint(os.getuid())\n" + FINE)
    greedy, modest = (scripts.prepare(source) for source in sources)
    while player_uid(modest.name) == player_uid(greedy.name):
        modest = replace(modest, name=modest.name + "x")
    found: list[ScriptRun] = []
    counted: list[int] = []

    def watch(printed: str) -> None:
        if (line := re.search(r'"score": (\d+)}', printed)) and not found:
            counted.append(int(line[1]))
            found.append(run_script(scripts.sandbox, modest))
            raise Seen

    with pytest.raises(Seen):
        run_script(scripts.sandbox, greedy, on_output=watch)

    # The script and its supervisor count among the fifty.
    assert [count <= 48 for count in counted] == [True]
    assert [run.verdict for run in found] == [ScriptScore(9.0)]
    if os.geteuid() == 0:
        assert found[0].end.log.splitlines()[0] == str(player_uid(modest.name))


def test_memory_is_limited(scripts: Scripts) -> None:
    limits = replace(LIMITS, memory_limit_bytes=128 << 20)
    run = scripts.run(FINE + "x = bytearray()\nwhile True: x += b'y' * (8 << 20)", limits=limits)

    assert isinstance(run.verdict, ScriptFailure)
    if scripts.sandbox.name == "docker":
        assert (run.verdict.code, run.end.ending) == (ScriptFault.OUT_OF_MEMORY, Ending.OUT_OF_MEMORY)
        assert "more than 128 MiB" in run.verdict.error
    else:
        assert (run.verdict.code, "MemoryError" in run.verdict.error) == (ScriptFault.FAILED, True)


def test_nice_and_ionice_are_applied_and_cannot_be_taken_back(scripts: Scripts) -> None:
    word = f"86404.{os.getpid()}{next(COUNTER)}"
    launch = scripts.prepare(
        "import os\n"
        "try: os.setpriority(os.PRIO_PROCESS, 0, 0); print('taken back')\n"
        "except PermissionError: pass\n"
        "print(os.nice(0), flush=True)\n"
        f"os.execvp('sleep', ['sleep', '{word}'])",
        limits=replace(LIMITS, nice=7, ionice_class=IDLE),
    )
    seen: list[str] = []

    def watch(printed: str) -> None:
        for pid in pids(f"sleep\0{word}\0") if printed else ():
            asked = subprocess.run(["ionice", "-p", str(pid)], capture_output=True, text=True, check=True)
            seen.extend((asked.stdout.strip(), printed.strip()))
            raise Seen

    with pytest.raises(Seen):
        run_script(scripts.sandbox, launch, on_output=watch)
    # A process of this host adds its niceness to that of the tests.
    own = os.nice(0) if scripts.sandbox.name == "process" else 0
    assert seen == ["idle", str(7 + own)]


@pytest.mark.usefixtures("namespaces")
def test_a_script_is_kept_from_all_but_its_own_small_files(scripts: Scripts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "very secret")
    source = (
        "import json, os, resource, socket\n"
        "print([line.split(':')[0].strip() for line in open('/proc/net/dev').readlines()[2:]])\n"
        "print(socket.gethostbyname('localhost'))\n"
        "try: socket.create_connection(('127.0.0.1', 22), timeout=2); print('connected')\n"
        "except OSError: print('refused')\n"
        "for signal in (1, 2, 9, 15, 17, 19):\n"
        "    try: os.kill(1, signal)\n"
        "    except OSError: pass\n"
        "try: print(len(os.listdir('/proc/1/fd')), 'files seen')\n"
        "except PermissionError: print('closed')\n"
        "open('notes.txt', 'w').write('x')\n"
        "print(dict(os.environ))\n"
        "def size():\n"
        "    with open('big', 'wb', 0) as file:\n"
        "        try:\n"
        "            while True: file.write(b'x' * (1 << 20))\n"
        "        except OSError: return file.tell()\n"
        "def number():\n"
        "    files = []\n"
        "    try:\n"
        "        while True: files.append(open(os.devnull))\n"
        "    except OSError: return len(files)\n"
        "core = resource.getrlimit(resource.RLIMIT_CORE)\n"
        "print(json.dumps({'score': 9, 'metrics': [size(), number(), *core]}))\n"
    )
    limits = replace(LIMITS, file_limit_bytes=4 << 20, open_files=64)
    launch = scripts.prepare(source, limits=limits, files={"weights.txt": "0.25"})
    run = scripts.run_prepared(launch)

    assert isinstance(run.verdict, ScriptScore)
    assert isinstance(run.verdict.metrics, tuple)
    size, number, *core = run.verdict.metrics
    assert (run.verdict.score, size, core) == (9.0, 4 << 20, [0, 0])
    assert 56 < number < 64
    assert run.end.log.splitlines()[:4] == ["['lo']", "127.0.0.1", "refused", "closed"]
    assert "very secret" not in run.end.log
    assert "OPENBLAS_NUM_THREADS" in run.end.log
    folder = Path(launch.image.removeprefix("folder:"))
    assert sorted(path.name for path in folder.iterdir()) == ["submission.py", "weights.txt"]


def test_a_missing_folder_is_the_platforms_fault(scripts: Scripts) -> None:
    launch = replace(scripts.prepare(FINE), image=f"folder:{scripts.arena.folder}/nothing")

    with pytest.raises(SandboxError) as caught:
        run_script(scripts.sandbox, launch)
    assert caught.value.code == "image_missing"
    assert list(scripts.arena.channels.iterdir()) == []


def test_a_script_that_ends_its_supervisor_has_no_score_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # This is possible only in local processes without namespaces.
    monkeypatch.setattr(process, "namespace_command", lambda: ())
    word = f"86405.{os.getpid()}{next(COUNTER)}"
    source = FINE + (
        "import os, time\n"
        f"if os.fork() == 0: os.execvp('sleep', ['sleep', '{word}'])\n"
        "time.sleep(0.5)\n"
        "os.kill(os.getppid(), 9)\n"
        "time.sleep(60)"
    )
    with folders({"submission.py": source}) as (folder,):
        channels = folder.parent / "c"
        launch = ScriptLaunch(f"folder:{folder}", f"arena-lost-{os.getpid()}", "CartPole-v1", LIMITS, {})
        run = run_script(ProcessSandbox(channels), launch)
        assert list(channels.iterdir()) == []

    assert isinstance(run.verdict, ScriptFailure)
    assert (run.verdict.code, run.end.exit_status) == (ScriptFault.KILLED, None)
    assert until(lambda: running(word) == [])
