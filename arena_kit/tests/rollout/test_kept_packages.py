"""Packages are built once by their content, and recordings are judged without an engine."""

from __future__ import annotations

import dataclasses
import io
import os
from pathlib import Path
from typing import Any

import pytest

from arena_kit.cli import rollout_home, rollout_kept
from arena_kit.cli.rollout import main
from arena_kit.cli.rollout_kept import MOST_KEPT, built_once, fresh_write, kept_folder
from arena_kit.rollout.attempt import Attempt, Work, attempt_judge
from arena_kit.rollout.building.images import Bases
from arena_kit.rollout.packages.package import Package, package_read
from arena_kit.rollout.recording.record import RolloutFacts, record_write
from arena_kit.rollout.worlds.built import BuiltPackage, BuiltService
from arena_kit.tests.rollout import notes

BASES = Bases({}, "rl-arena-home-kept", None)  # type: ignore[arg-type]  # nothing is built
FRESH = {"lines.csv": b"id,text\n1,Buy milk\n"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what the engine was asked for, without one."""
    found: list[str] = []

    def build(_: io.BytesIO, package: Package, **options: Any) -> BuiltPackage:
        found.append(f"build {options['seed']}")
        built = built_of(package, options["seed"])
        service = BuiltService(package.services[0], "sha256:1")
        return dataclasses.replace(built, services=(service,), uploads={"note.txt": b"x"})

    monkeypatch.setattr(rollout_kept, "package_build", build)
    monkeypatch.setattr(rollout_kept, "package_remove", lambda built, _: found.append(f"remove {built.seed}"))
    monkeypatch.setattr(rollout_kept, "_has_images", lambda _: True)
    return found


def built_of(package: Package, seed: int = 0) -> BuiltPackage:
    manifest = package.manifest
    plain = BuiltPackage(
        package.sha256, manifest.slug, (), manifest.exports, manifest.memory_bytes, manifest.origins, manifest.volatile,
        seed, fresh=FRESH,
    )  # fmt: skip
    with plain.state(FRESH) as state:
        return dataclasses.replace(plain, digest=state.digest())


def once(seed: int = 0) -> BuiltPackage:
    file = notes.packed()
    worlds: Any = None
    return built_once(file, notes.package(file), worlds=worlds, bases=BASES, seed=seed, on_build=lambda: None)


def test_a_package_is_built_once(done: list[str]) -> None:
    first, second = once(), once()
    assert done == ["build 0"]
    assert second == first
    assert second.fresh == FRESH


def test_images_that_are_gone_and_files_that_cannot_be_read_are_made_again(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    once()
    for path in kept_folder().rglob("built.json"):
        path.write_text("{")
    once()
    monkeypatch.setattr(rollout_kept, "_has_images", lambda _: False)
    once()
    assert done == ["build 0"] * 3


def test_only_the_latest_packages_are_kept(done: list[str]) -> None:
    for seed in range(MOST_KEPT + 1):
        once(seed)
        for path in kept_folder().iterdir():
            # As if each was made a minute after the one before.
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 60))
    assert done == [*(f"build {seed}" for seed in range(MOST_KEPT + 1)), "remove 0"]


def test_the_same_files_are_the_same_package_whenever_they_were_written(tmp_path: Path) -> None:
    sha256 = set()
    for place, at in (("a", 1e9), ("b", 1.5e9)):
        folder = tmp_path / place
        folder.mkdir()
        (folder / "compose.yml").write_text("services: {}")
        os.utime(folder / "compose.yml", (at, at))
        sha256.add(rollout_home._packed(folder).getvalue())
    assert len(sha256) == 1


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_recording_is_judged_without_an_engine(
    tmp_path: Path, is_kept: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_engine(*_: object, **__: object) -> None:
        pytest.fail("an engine was asked for")

    monkeypatch.setattr(rollout_home, "engine", no_engine)
    monkeypatch.setattr(rollout_kept, "engine", no_engine)
    package_file, kept = tmp_path / "package.zip", tmp_path / "kept"
    package_file.write_bytes(notes.packed().getvalue())
    kept.mkdir()
    package = package_read(io.BytesIO(package_file.read_bytes()))
    task, built, work = package.tasks.tasks[0], built_of(package), Work("nothing of the kind")
    verdict = attempt_judge(built, task, work, FRESH)
    record_write(kept, built, task, Attempt(verdict, work, FRESH), RolloutFacts("scripted"))
    if is_kept:
        fresh_write(kept, built)
    status = main([str(package_file), "--package", str(package_file), "--judge", str(kept)])
    said = capsys.readouterr().err
    assert status == (0 if is_kept else 2), said
    assert (verdict.outcome if is_kept else "lacks the state of a fresh world") in said
