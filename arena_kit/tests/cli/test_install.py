"""The command line installs what a submission requires, as the site's builder does."""

from __future__ import annotations

import queue
import subprocess
import sys
import zipfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from django.conf import settings

from arena_kit.image.local import PackageFolder, package_folder
from arena_kit.tests.cli.test_play import BASE, ROOT, run
from arena_kit.tests.playing import folders, player
from arena_kit.tests.scripts import FINE

WHEEL = "arena_test_greeting-{0}-py3-none-any.whl"
METADATA = "Metadata-Version: 2.1\nName: arena-test-greeting\nVersion: {0}\n"
GREETED = player(top="import arena_test_greeting")


def wheel(folder: Path, version: str = "1.0") -> None:
    """Write a wheel with one module."""
    info = f"arena_test_greeting-{version}.dist-info"
    files = {
        "arena_test_greeting.py": f"WORDS = {version!r}\n",
        f"{info}/METADATA": METADATA.format(version),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / WHEEL.format(version), "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD")))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and an index that has nothing but one wheel."""
    index = tmp_path / "index"
    index.mkdir()
    wheel(index)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "arena-kit" / "requirements"


@pytest.fixture
def images_of_this_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetch from the real index, into images that are removed at the end of the run."""
    for module in ("install", "needed"):
        monkeypatch.setattr(f"arena_kit.cli.{module}.PREFIX", settings.PLAYER_IMAGE_PREFIX)
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name)


def installed(cache: Path) -> list[Path]:
    return sorted(path for path in cache.iterdir() if path.is_dir())


def test_what_a_submission_requires_is_installed_once_and_found_by_it_alone(cache: Path) -> None:
    needs = {"requirements.txt": "arena-test-greeting==1.0\n"}
    script = "import arena_test_greeting\n" + FINE
    with folders({"player.py": GREETED, **needs}, GREETED, {"submission.py": script, **needs}) as (one, two, scored):
        first = run(one, two, *BASE)
        # Without the index: what is there is used again.
        (cache.parents[2] / "index" / WHEEL.format("1.0")).unlink()
        evaluated = run("evaluate", one, "--environment", "CartPole-v1", "--sandbox", "process", "--episodes", "2")
        ran = run("script", scored, "--environment", "CartPole-v1", "--sandbox", "process")
    assert f"arena: {one} requires arena-test-greeting==1.0." in first.stderr
    assert "No module named 'arena_test_greeting'" in first.stderr
    assert "player 1 wins" in first.stderr
    assert "Score: " in evaluated.stderr
    assert "Score: " in ran.stderr
    (made,) = installed(cache)
    assert (made / "packages" / "arena_test_greeting.py").is_file()


def test_an_install_that_fails_prints_a_sentence_and_the_last_lines(cache: Path) -> None:
    with folders({"player.py": GREETED, "requirements.txt": "arena-test-greeting==7\n"}) as (wanting,):
        done = run(wanting, wanting, *BASE, code=2)
    assert (
        f"arena: {wanting}: arena-test-greeting==7: no version of arena-test-greeting fits; the newest here is 1.0. "
        "Ask for an existing version.\n" in done.stderr
    )
    assert "  | ERROR: No matching distribution found for arena-test-greeting==7" in done.stderr
    assert installed(cache) == []


@pytest.mark.nightly
def test_an_old_pin_falls_back_to_the_version_that_is_there() -> None:
    with folders({"player.py": GREETED, "requirements.txt": "arena-test-greeting\nnumpy==1.0\n"}) as (one,):
        done = run(one, one, *BASE)
    assert f"arena: {one}: numpy==1.0 has no wheel for the Python of this computer; version " in done.stderr
    assert "4 matches in" in done.stderr


def test_the_second_of_two_waits_for_the_first_and_shares_its_folder(cache: Path) -> None:
    lines = ("arena-test-greeting==3.0",)
    said: queue.SimpleQueue[str] = queue.SimpleQueue()
    others: list[Future[PackageFolder | None]] = []
    with ThreadPoolExecutor(1) as threads, pytest.MonkeyPatch.context() as patch:

        def install_late(_: object, base: object, target: Path, log: object) -> None:
            others.append(threads.submit(package_folder, lines, cache=cache, log=said.put))
            assert "waiting for it" in said.get(timeout=60)
            (target / "packages").mkdir(parents=True)
            (target / "warnings.json").write_text("[]")

        patch.setattr("arena_kit.image.local._install", install_late)
        first = package_folder(lines, cache=cache, log=lambda _: None)
        assert first is not None
        assert others[0].result(60) == first
    assert "reused" in said.get()


@pytest.mark.nightly
def test_two_at_once_share_one_folder(cache: Path) -> None:
    with folders({"player.py": GREETED, "requirements.txt": "arena-test-greeting\n"}) as (one,):
        command = [sys.executable, "-m", "duel_runner", str(one), str(one), *BASE]
        both = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        said = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert all("4 matches in" in text for text in said)
    assert len(installed(cache)) == 1


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.usefixtures("images_of_this_run")
@pytest.mark.nightly
def test_a_script_without_requirements_has_gymnasium() -> None:
    with folders({"submission.py": "import gymnasium\n" + FINE}) as (script,):
        done = run("script", script, *BASE[:1], "CartPole-v1", "--base-image", settings.PLAYER_BASE_IMAGE)
    assert f"arena: {script} requires gymnasium." in done.stderr
    assert "Score: 9" in done.stderr


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.usefixtures("images_of_this_run")
def test_a_container_has_what_its_player_requires() -> None:
    source = player(top="import six; assert six.__version__ == '1.16.0'")
    docker = (*BASE[:2], *BASE[4:], "--sandbox", "docker", "--base-image", settings.PLAYER_BASE_IMAGE)
    with folders({"player.py": source, "requirements.txt": "six==1.16.0\n"}, source) as (one, two):
        done = run(one, two, *docker)
    assert "player 1 wins" in done.stderr
    assert "No module named 'six'" in done.stderr
