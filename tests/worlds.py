"""Worlds of tests: rows that are made once for a module, and are as good as new for each of its tests. A plug-in.

    @pytest.fixture(scope="module")
    def shared_cast(module_db: None) -> Cast:
        return factories.cast()

    @pytest.fixture
    def cast(shared_cast: Cast, fresh: Fresh) -> Cast:
        return fresh(shared_cast)

Making the rows takes more time than most tests that look at them.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
from django.core.files.storage import Storage
from django.db import connection, connections
from pytest_django import DjangoDbBlocker

from tests.databases import rolled_back

AnyWorld = TypeVar("AnyWorld")


class Fresh(Protocol):
    """Gives a test its own copy of what its module shares: what stands for one row stays one object."""

    def __call__(self, shared: AnyWorld) -> AnyWorld: ...


class _Files:
    """Files that worlds have stored. They belong to no transaction, so a test that has spoiled one mends it."""

    def __init__(self) -> None:
        self._contents: dict[Path, bytes] = {}

    def note(self, path: Path) -> None:
        # Within a test there is a second block that tests roll back.
        if sum(block._from_testcase for block in connection.atomic_blocks) == 1:  # type: ignore[attr-defined]  # as in rolled_back
            self._contents[path] = path.read_bytes()

    def mend(self) -> None:
        for path, content in self._contents.items():
            if not path.is_file() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)


@pytest.fixture(scope="module")
def module_db(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[_Files]:
    """Let fixtures of a module make rows. Each test is rolled back to them, and the last of them goes with them."""
    ours = [item for item in request.session.items if item.path == request.path]
    if committing := [item.name for item in ours if _commits(item)]:
        raise pytest.UsageError(f"{committing} empties the database: rows cannot be shared with it.")
    files = _Files()
    save = Storage.save

    def noted(storage: Storage, *arguments: Any, **further: Any) -> str:
        name = save(storage, *arguments, **further)
        files.note(Path(storage.path(name)))
        return name

    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock(), rolled_back():
        patch.setattr(Storage, "save", noted)
        # The end of a streamed answer would close the connection, and the rows with it.
        patch.setattr(connections["default"], "close_if_unusable_or_obsolete", lambda: None)
        yield files


@pytest.fixture(scope="module", autouse=True)
def worlds_are_whole(request: pytest.FixtureRequest) -> None:
    """Make all that a module shares before its first test: none may depend on which tests ran before it."""
    shared = {
        name
        for item in request.session.items
        if item.path == request.path and "module_db" in getattr(item, "fixturenames", ())
        for name, definitions in item._fixtureinfo.name2fixturedefs.items()  # type: ignore[attr-defined]  # no API
        if definitions[-1].scope == "module"
    }
    for name in sorted(shared - {"worlds_are_whole"}):
        request.getfixturevalue(name)


@pytest.fixture
def fresh(db: None, module_db: _Files) -> Fresh:
    """Copies of what the module shares."""
    module_db.mend()
    copies: dict[int, Any] = {}

    def copy(shared: AnyWorld) -> AnyWorld:
        return deepcopy(shared, copies)

    return copy


def _commits(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("django_db")
    names = {"transactional_db", "live_server"}
    return bool(marker and marker.kwargs.get("transaction")) or bool(names & set(getattr(item, "fixturenames", ())))
