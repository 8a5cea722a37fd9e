"""What the processes of a run of the whole suite share at its beginning. A plug-in of pytest.

They begin together. In a fresh clone each would rewrite the assertions of all test modules, ten seconds of a processor,
as none finds what the others have written; and all but one would wait until that one has run the migrations.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from _pytest.assertion import rewrite
from pytest_django.plugin import blocking_manager_key

from tests.databases import template_kept

WHOLE = "whole_suite"
UNTIL = pytest.StashKey[tuple[threading.Event, threading.Thread]]()


def pytest_configure(config: pytest.Config) -> None:
    """Give a run its id now: the database of all its processes is named by it."""
    if not hasattr(config, "workerinput") and getattr(config.option, "testrunuid", "") is None:
        config.option.testrunuid = uuid4().hex


def _is_whole(config: pytest.Config) -> bool:
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.collectonly


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Migrate the database while the processes collect their tests."""
    if not _is_whole(config):
        return
    folder: Path = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # as xdist does
    end = threading.Event()

    def keep() -> None:
        # A process that finds no database makes it, and says why it cannot.
        with config.stash[blocking_manager_key].unblock(), template_kept(folder, run=config.option.testrunuid):
            end.wait()

    thread = threading.Thread(target=keep, name="migrations")
    thread.start()
    config.stash[UNTIL] = (end, thread)


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave the migrated database, while the plug-in of Django still lets anyone use it."""
    if (kept := config.stash.get(UNTIL, None)) is not None:
        end, thread = kept
        end.set()
        thread.join()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process whether the run is of all tests."""
    node.workerinput[WHOLE] = _is_whole(node.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Rewrite the assertions of a share of the test modules for all processes."""
    given = getattr(session.config, "workerinput", {})
    if not given.get(WHOLE) or session.config.getoption("--both-databases") or sys.dont_write_bytecode:
        return
    folders = session.config.getini("testpaths")
    modules = sorted(path for name in folders for path in (session.config.rootpath / name).rglob("test_*.py"))
    share_rewrite(session.config, modules[int(given["workerid"][2:]) :: given["workercount"]])


def share_rewrite(config: pytest.Config, modules: Sequence[Path]) -> None:
    """Write what pytest makes of these modules where it will look for it."""
    state = config.stash[rewrite.assertstate_key]
    for path in modules:
        folder = rewrite.get_cache_dir(path)
        cached = folder / f"{path.stem}{rewrite.PYC_TAIL}"
        if rewrite.try_makedirs(folder) and rewrite._read_pyc(path, cached) is None:
            source_hash, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, source_hash, cached)
