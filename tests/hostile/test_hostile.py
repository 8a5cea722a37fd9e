"""Every hostile archive, player, requirement and text gets its verdict, and leaves this host as it was."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.hostile.__main__ import main
from tests.hostile.archives import ARCHIVES
from tests.hostile.arena import Arena, offered
from tests.hostile.cases import CONTAINED, OF_THE_SANDBOX, Case, player_source, read_cases
from tests.hostile.host import Host
from tests.hostile.mutations import MUTATIONS
from tests.hostile.uploads import judge_upload

CASES = read_cases()
UPLOADS = [case for case in CASES if case.kind != "player"]
PLAYERS = [case for case in CASES if case.kind == "player"]
# Where the engine has no gVisor, there is nothing to play in.
ANSWERS = [case.name for case in PLAYERS if case.category == "answers"]
CONTAINED_MARKS = [pytest.mark.docker, pytest.mark.hostile]
PLACES = ["process", "docker", *({"runsc"} & {*offered()})]
Arenas = Callable[[str], Arena]
LARGE = {"Python that folds to gigabytes", "many small zip bombs"}
"""Uploads that take seconds to refuse."""
LATE_OF_THE_NIGHT = {
    "spin at import", "spin in __init__", "spin in start", "spin in end", "catching every exception",
    "spin that holds the interpreter", "sleep at import", "sleep in __init__", "late in every move", "stopping itself",
    "no answer", "half an answer", "trickled answer", "huge exception",
}  # fmt: skip
"""In local processes: a push has a player that spins in a move, a deaf one, those that sleep in a move and in end."""
PROCESS_ON_A_PUSH = {"compiled files in an archive"}
STARTS_OF_THE_NIGHT = PROCESS_ON_A_PUSH | {
    "exit at import", "polite exit at import", "player that does not compile", "no class Player",
    "a loop that the next import meets",
}  # fmt: skip
"""In containers, each with a start of its own: a push has other players that end or hang while they are loaded."""


def marks_of(sandbox: str, case: Case) -> list[pytest.MarkDecorator]:
    """Marks of a case: on a push containers play what a sandbox has to hold, and local processes what a referee judges.

    Local processes are for one's own code: of what a sandbox has to hold they play on a push what could harm the host.
    """
    if sandbox == "runsc":
        return [*CONTAINED_MARKS, pytest.mark.gvisor, pytest.mark.nightly]
    if sandbox == "docker":
        is_held = case.category in OF_THE_SANDBOX and case.name not in STARTS_OF_THE_NIGHT
        return CONTAINED_MARKS if is_held else [*CONTAINED_MARKS, pytest.mark.nightly]
    # Process cases are slow all together.
    is_nightly = (
        (case.category in ("builds", "exits") and case.name not in PROCESS_ON_A_PUSH)
        or case.name in LATE_OF_THE_NIGHT
        # The referee judges all answers by the same few rules.
        or (case.category == "answers" and ANSWERS.index(case.name) % 3 > 0)
    )
    return [pytest.mark.slow, *([pytest.mark.nightly] if is_nightly else [])]


@pytest.fixture(scope="module")
def arenas() -> Iterator[Arenas]:
    """One arena per sandbox, opened when first asked for; each still starts players when all cases are over."""
    opened: dict[str, Arena] = {}
    with contextlib.ExitStack() as stack:

        def arena(sandbox: str) -> Arena:
            if sandbox not in opened:
                opened[sandbox] = stack.enter_context(Arena(sandbox))
            return opened[sandbox]

        yield arena

        assert [sandbox for sandbox, arena in opened.items() if not arena.still_starts_players()] == []


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=[pytest.mark.slow] if case.name in LARGE else []) for case in UPLOADS],
)
def test_an_upload_gets_its_verdict_and_leaves_nothing(case: Case) -> None:
    report = judge_upload(case)

    assert (report.problems, report.dirt) == ((), ())


@pytest.mark.parametrize(
    ("sandbox", "case"),
    [
        pytest.param(sandbox, promised, id=f"{sandbox}-{case.name}", marks=marks_of(sandbox, case))
        for sandbox in PLACES
        for case in PLAYERS
        if (promised := case.on(sandbox)) and (sandbox != "runsc" or case.category in OF_THE_SANDBOX)
    ],
)
def test_a_player_gets_its_verdict_and_leaves_nothing(sandbox: str, case: Case, arenas: Arenas) -> None:
    report = arenas(sandbox).judge(case)

    assert (report.problems, report.dirt) == ((), ())


def test_the_manifest_names_what_every_attempt_must_have_printed() -> None:
    silent = [case.name for case in PLAYERS if not case.lines]

    assert len(CASES) >= 60
    assert silent == []
    assert {case.name for case in CASES if case.kind == "archive"} == ARCHIVES.keys()
    assert all(reason for case in CASES for reason in case.not_on.values())
    assert {name for mutation in MUTATIONS for name in mutation.cases} <= {case.name for case in CASES}


HONEST = Case(name="honest", category="test", kind="player", verdict=(CONTAINED,),
              files={"player.py": player_source({})})  # fmt: skip


def test_an_honest_player_passes_for_one(arenas: Arenas) -> None:
    report = arenas("process").judge(HONEST)

    assert (report.got, report.problems, report.dirt) == (CONTAINED, (), ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "changes", "problem"),
    [
        ({}, {"lines": ("tried x: refused EPERM",)}, "it did not say"),
        ({"attack": "tried('x', int)"}, {"lines": ("tried x: refused EPERM",)}, "but 'tried x: done 0'"),
        ({"step": "return -1"}, {}, "the verdict is illegal_action, not contained"),
        ({}, {"verdict": ("player_raised",)}, "the verdict is contained, not player_raised"),
        ({"step": "return valid_actions[-1]"}, {}, "the matches went otherwise"),
    ],
    ids=["silence", "another outcome", "a fault", "no fault", "other moves"],
)
def test_what_is_not_as_expected_is_told(
    parts: dict[str, str], changes: dict[str, object], problem: str, arenas: Arenas
) -> None:
    case = replace(HONEST, files={"player.py": player_source(parts)}, **changes)  # type: ignore[arg-type]

    report = arenas("process").judge(case)

    assert not report.as_expected
    assert problem in "; ".join(report.problems)


def test_a_secret_that_is_found_is_told(arenas: Arenas) -> None:
    arena = arenas("process")
    case = replace(HONEST, files={"player.py": player_source({"attack": f"say({arena._secrets[0]!r})"})})

    assert arena.judge(case).problems == (f"{arena._secrets[0]} was found",)


def test_what_is_left_on_the_host_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr("tests.hostile.host.SETTLE_SECONDS", 0.2)
    host = Host("arena.hostile=of-no-one", (tmp_path,), None)
    request.addfinalizer(host.close)
    assert host.problems() == []

    (tmp_path / "left").touch()
    # An orphan: its parent has ended.
    source = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(9)'])"
    subprocess.run([sys.executable, "-c", source], check=True)
    process, folder = sorted(host.problems(), reverse=True)

    assert folder == f"{tmp_path}/left is left"
    assert process.startswith("process ")
    os.kill(int(process.split()[1]), signal.SIGKILL)
    (tmp_path / "left").unlink()
    monkeypatch.setattr("tests.hostile.host.SETTLE_SECONDS", 30.0)
    assert host.problems() == []


def test_the_command_prints_a_table_and_writes_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["--category", "requirements", "--case", "YAML", "--json", str(tmp_path / "figures.json")])

    figures = json.loads((tmp_path / "figures.json").read_text())
    assert status == 0
    assert (figures["cases"], figures["as_expected"], figures["host_clean"]) == (3, True, True)
    assert "requirements  any              3/3" in capsys.readouterr().out


def test_the_command_fails_where_nothing_is_judged() -> None:
    assert main(["--case", "there is no such case"]) == 1
