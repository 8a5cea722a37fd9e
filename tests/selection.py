"""Which tests a run chooses, and what it says about those that it leaves out. A plug-in of pytest.

- `nightly`: slow and rarely broken; left out unless `--nightly` is given (`make nightly`, and before a release).
- `long`: takes minutes, so that a process begins with it.
- `slow`: takes more than a few seconds; left out if `--no-slow` is given (`make test` without PostgreSQL).
- `both_databases`: can differ by the database; these run on SQLite as well on every push.
- Tests whose helpers this machine lacks are skipped with a reason, or fail where ARENA_REQUIRE names the helper.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.machine import LEFT_OUT, MISSING, REQUIRED

NOT_HERE = pytest.StashKey[Counter[str]]()
"""How many tests this process left out, by the name of what they need, or of their marker."""
LEFT_OUT_BECAUSE = {
    "nightly": "slow and rarely broken: `make nightly` runs them",
    "slow": "slow: `make nightly` runs them, and `make test` where PostgreSQL is installed",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="Also what is slow and rarely breaks.")
    parser.addoption("--no-slow", action="store_true", help="Nothing that takes more than a few seconds.")
    parser.addoption(
        "--both-databases", action="store_true", help="Only what can differ by the database: for a run on SQLite."
    )
    parser.addoption("--draw-pictures", action="store_true", help="Draw the pictures of README.md anew.")
    parser.addoption("--database-only", action="store_true", help="Only what uses the database, players in processes.")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module for a run on SQLite that has nothing for it: each process of the run imports all."""
    if not config.getoption("--both-databases") or collection_path.suffix != ".py" or not collection_path.is_file():
        return None
    return True if "both_databases" not in collection_path.read_text(encoding="utf-8") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the options do not ask for, and what ARENA_REQUIRE says to leave out."""
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    counts = config.stash.setdefault(NOT_HERE, Counter())
    for item in items:
        if not _is_wanted(item, config):
            left_out.append(item)
        elif item.get_closest_marker("nightly") and not config.getoption("--nightly"):
            left_out.append(item)
            counts["nightly"] += 1
        elif item.get_closest_marker("slow") and config.getoption("--no-slow"):
            left_out.append(item)
            counts["slow"] += 1
        else:
            kept.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    items[:] = _dealt(kept, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def _dealt(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """Order tests so that no process is left with a slow one while the others have ended.

    Each process begins with a share of equal length. Modules stay whole, as their tests share worlds. The long ones
    come first in each share, then those that share a browser, then the slow ones.
    """
    if processes == 1:
        return items
    modules = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    shares: list[list[pytest.Item]] = [[] for _ in range(processes)]
    # Sorting keeps the random order among those of one kind.
    for tests in sorted(modules, key=_turn):
        min(shares, key=len).extend(tests)
    return [test for share in shares for test in share]


def _turn(tests: list[pytest.Item]) -> int:
    # It is over before the others are, though it mostly waits.
    if any(test.get_closest_marker("long") for test in tests):
        return -1
    if any("chromium" in getattr(test, "fixturenames", ()) for test in tests):
        return 0
    return 1 if any(test.get_closest_marker("slow") for test in tests) else 2


def _is_wanted(item: pytest.Item, config: pytest.Config) -> bool:
    if any(item.get_closest_marker(kind) for kind in LEFT_OUT):
        return False
    if config.getoption("--both-databases"):
        return item.get_closest_marker("both_databases") is not None and _uses_database(item)
    return not config.getoption("--database-only") or _uses_database(item)


def _uses_database(item: pytest.Item) -> bool:
    # Only runs on SQLite ask.
    if item.get_closest_marker("postgres"):
        return False
    # The same work is done with players in processes; on the engine it differs by the engine.
    if any(item.get_closest_marker(kind) for kind in ("docker", "browser")):
        return False
    fixtures = set(getattr(item, "fixturenames", ()))
    return item.get_closest_marker("django_db") is not None or bool(fixtures & {"db", "transactional_db"})


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or fail where ARENA_REQUIRE says so, a test whose helpers are missing."""
    for kind, missing in MISSING.items():
        if item.get_closest_marker(kind) is None or not (reason := missing()):
            continue
        if kind in REQUIRED or "all" in REQUIRED:
            pytest.fail(f"{kind} is required here: {reason}", pytrace=False)
        item.config.stash.setdefault(NOT_HERE, Counter())[f"{kind} ({reason})"] += 1
        pytest.skip(f"{kind}: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With ARENA_REQUIRE=all a test that skips itself fails: continuous integration must run everything."""
    report = yield
    if report.skipped and "all" in REQUIRED and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but everything is required here: {report.longrepr}"
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what this process left out to the process that shows the summary."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["not_here"] = dict(session.config.stash.get(NOT_HERE, None) or {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add up what the processes of a run have left out. Each has collected all tests, and run some."""
    counts = node.config.stash.setdefault(NOT_HERE, Counter())
    for what, count in getattr(node, "workeroutput", {}).get("not_here", {}).items():
        counts[what] = max(counts[what], count) if what in LEFT_OUT_BECAUSE else counts[what] + count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out, and why."""
    counts = config.stash.get(NOT_HERE, None)
    if not counts:
        return
    terminalreporter.section("left out")
    for what, count in sorted(counts.items()):
        terminalreporter.write_line(f"{count} tests {LEFT_OUT_BECAUSE.get(what, f'need {what}')}")
