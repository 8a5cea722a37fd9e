"""`arena check` and the site judge the same archives alike, in codes and in words."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from arena_kit.cli.main import main
from arena_kit.image.errors import BuildFailed
from arena_kit.image.recipe import unpack
from arena_kit.tests.upload.test_archive import PLAYER, zip_of
from core.models import Submission
from core.people.tokens import token_create
from core.tests import factories
from example_players.acceptance import ARCHIVES as BROKEN
from tests.hostile.archives import ARCHIVES as HOSTILE
from tests.hostile.cases import read_cases
from tests.hostile.uploads import archive_of

ENVIRONMENT = "tic-tac-toe"
NAMES = (
    "/etc/passwd", "C:/windows/x.py", "a\\b.py", "../evil.py", "a/./b.py", "a//b.py", "..", "line\nbreak.py",
    "right\u202eto-left.py", "a" * 201, "/".join("ab" * 15), "PLAYER.PY", "player.py/inside.txt", "weights.pyc",
)  # fmt: skip
EVERY = 17
"""Every push judges one of so many archives, each night all of them."""


def corpus() -> Mapping[str, Callable[[], bytes]]:
    """Return more than a hundred archives by name: hostile ones, mistakes, and such as are accepted."""
    found: dict[str, Callable[[], bytes]] = {}
    for name, make in HOSTILE.items():
        found[name] = lambda make=make: make().getvalue()  # type: ignore[misc]
    for archive in BROKEN:
        found[f"acceptance: {archive.name}"] = archive.make
    for bad in NAMES:
        found[f"named {bad!a}"] = lambda bad=bad: zip_of((bad, b"x")).getvalue()  # type: ignore[misc]
    for entry in ("player.py", "agent.py", "main.py", "submission.py", "Player.py", "deep/player.py"):
        found[f"entry {entry}"] = lambda entry=entry: zip_of((entry, PLAYER), player=False).getvalue()  # type: ignore[misc]
    for name, content in (("nothing", b""), ("rar", b"Rar!\x1a\x07\x00"), ("zeros", b"PK\x03\x04" + bytes(100))):
        found[name] = lambda content=content: content  # type: ignore[misc]
    for case in read_cases():
        if case.kind == "requirements":
            found[f"requirements: {case.name}"] = lambda case=case: archive_of(case).getvalue()  # type: ignore[misc]
    return found


ALL = corpus()


def test_the_corpus_has_a_hundred_archives() -> None:
    assert len(ALL) >= 100


@pytest.fixture
def site(db: None) -> Client:
    factories.environment(ENVIRONMENT)
    _, token = token_create(owner=factories.user("ada"), name="test", now=timezone.now(), days=1)
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture(autouse=True)
def inspections_have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine leaves nothing to the build."""
    monkeypatch.setattr("arena_kit.upload.inspection.MOST_SECONDS", 300.0)
    monkeypatch.setattr("arena_kit.upload.inspection.PATIENCE_SECONDS", 300.0)


@pytest.fixture(autouse=True)
def same_signals() -> Iterator[None]:
    """The command handles SIGTERM; give it back."""
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


def judged_by_site(site: Client, content: bytes, number: int, folder: Path) -> tuple[str, str]:
    """Return code and sentence of the refusal, by the upload or the first step of the build; empty without one."""
    cache.clear()
    form = {
        "environment": ENVIRONMENT,
        "name": f"agent-{number}",
        "archive": SimpleUploadedFile("archive.zip", content, content_type="application/zip"),
    }
    response = site.post("/api/v1/agents/", form)
    answer: dict[str, Any] = response.json()
    assert response.status_code in (201, 400), answer
    if response.status_code == 400:
        return answer["code"], " ".join(answer["archive"])
    try:
        with Submission.objects.get(agent__name=f"agent-{number}").archive.open("rb") as file:
            unpack(file, folder / str(number), (), log=lambda _: None)
    except BuildFailed as failure:
        return failure.code, str(failure)
    return "", ""


def judged_here(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    status = main(["check", str(path), "--environment", ENVIRONMENT, "--files-only", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert (status, answer["passes"]) in ((0, True), (3, False))
    return answer["code"], answer["error"]


def compare(site: Client, names: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    different = {}
    verdicts = set()
    for number, name in enumerate(names):
        path = folder / "archive.zip"
        content = ALL[name]()
        path.write_bytes(content)
        there, here = judged_by_site(site, content, number, folder), judged_here(path, capsys)
        verdicts.add(here[0])
        if there != here:
            different[name] = (there, here)
    assert different == {}
    assert len(verdicts) > 3


@pytest.mark.slow
def test_some_archives_get_the_same_verdict(site: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare(site, list(ALL)[::EVERY], tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.nightly
def test_all_archives_get_the_same_verdict(site: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare(site, list(ALL), tmp_path, capsys)


@pytest.mark.slow
def test_a_folder_is_judged_as_its_zip(site: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "player.py").write_text("class Player\n")
    assert judged_here(tmp_path, capsys) == judged_by_site(
        site, zip_of(("player.py", b"class Player\n"), player=False).getvalue(), 1, tmp_path / "unpacked"
    )
