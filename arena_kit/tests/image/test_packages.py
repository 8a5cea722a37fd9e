"""Runs of pip: which lines fall back to the base image's version, and which failures are the platform's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import docker
import pytest

from arena_kit.image import packages
from arena_kit.image.container import NameTaken, lines
from arena_kit.image.errors import BuilderUnavailable, BuildFailed
from arena_kit.image.installer import Installer
from arena_kit.image.packages import Network, package_image
from arena_kit.image.wheels import MAX_FALL_BACKS, fetch_all, not_met, warning

MISSING = (
    "ERROR: Could not find a version that satisfies the requirement {0} (from versions: 2.0, 9.0)\n"
    "ERROR: No matching distribution found for {0}"
)
BASE = {"numpy": "1.24.2", "pip": "23.0"}


class Answers:
    """A fake Installer that gives prepared answers and keeps what it was asked for."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self._answers: Iterator[tuple[int, str]] = iter(answers)
        self.asked: list[tuple[str, ...]] = []

    def fetch(self, lines: tuple[str, ...], log: Callable[[str], None]) -> tuple[int, str]:
        self.asked.append(lines)
        return next(self._answers)


def fetch(pip: Answers, *wanted: str, base: dict[str, str] = BASE) -> list[str]:
    return fetch_all(cast(Installer, pip), list(wanted), base, print)


def test_an_old_pin_is_given_up_when_the_base_image_has_the_package() -> None:
    pip = Answers((1, MISSING.format("NumPy==1.16.4")), (0, ""))

    assert fetch(pip, "NumPy==1.16.4", "tqdm") == ["NumPy==1.16.4"]
    assert pip.asked == [("NumPy==1.16.4", "tqdm"), ("tqdm",)]


def test_pip_is_not_asked_to_fetch_nothing() -> None:
    pip = Answers((1, MISSING.format("numpy==1.16.4")))

    assert fetch(pip, "numpy==1.16.4") == ["numpy==1.16.4"]


@pytest.mark.parametrize(
    ("missing", "named"),
    [("torch==1.0", "torch==1.0"), ("inner-part<2", "inner-part<2"), ("numpy==9.9", "numpy==9.9"), ("numpy", "numpy")],
)
def test_what_no_version_can_stand_in_for_fails_the_build(missing: str, named: str) -> None:
    base = {"pip": "23.0"} if missing == "numpy" else BASE

    with pytest.raises(BuildFailed, match=f"^{named}: no version of .* fits; the newest here is 9.0") as caught:
        fetch(Answers((1, MISSING.format(missing))), "torch==1.0", named, base=base)

    assert caught.value.code == "no_wheel"


def test_without_an_index_nothing_falls_back() -> None:
    output = "WARNING: ... Max retries exceeded with url: /simple/numpy/\n" + MISSING.format("numpy==1.16.4")

    with pytest.raises(BuilderUnavailable) as caught:
        fetch(Answers((1, output)), "numpy==1.16.4")

    assert caught.value.code == "index_unreachable"


def test_the_number_of_rounds_is_bounded() -> None:
    wanted = [f"p{number}==1" for number in range(MAX_FALL_BACKS + 1)]
    pip = Answers(*((1, MISSING.format(line)) for line in wanted))

    with pytest.raises(BuildFailed, match=f"^More than {MAX_FALL_BACKS} requirements") as caught:
        fetch(pip, *wanted, base={line.partition("=")[0]: "2" for line in wanted})

    assert caught.value.code == "no_wheel"


def test_the_warning_names_the_version_that_is_used() -> None:
    assert warning("numpy==1.16.4", {}, BASE).endswith("version 1.24.2, which is there, is used.")
    assert warning("numpy==1.16.4", {"numpy": "2.1"}, BASE).endswith("version 2.1 is used.")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (["numpy"], []),
        (["NumPy<2,>=1.20", "pip"], []),
        (["numpy>=2"], ["numpy>=2"]),
        (["numpy", "tqdm"], ["tqdm"]),
        (["numpy[extra]"], ["numpy[extra]"]),
        (['numpy; python_version < "3"'], ['numpy; python_version < "3"']),
    ],
)
def test_what_the_base_image_has_needs_no_pip(wanted: list[str], expected: list[str]) -> None:
    assert not_met(tuple(wanted), BASE) == tuple(expected)


def test_output_is_cut_into_lines_wherever_the_pieces_end() -> None:
    assert list(lines(iter([b"one\ntw", b"o\r\n", b"", b"caf\xe9"]))) == ["one", "two", "caf\ufffd"]


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    assert [len(line) for line in lines(iter([b"x" * 30_000] * 3))] == [30_000] * 3


def test_missing_certificates_are_the_platforms_trouble(tmp_path: Path) -> None:
    (tmp_path / "bundle.crt").write_bytes(b"certificates")

    assert Network().read_certificates() == b""
    assert Network(certificates=str(tmp_path / "bundle.crt")).read_certificates() == b"certificates"
    with pytest.raises(BuilderUnavailable):
        Network(certificates=str(tmp_path / "nothing.crt")).read_certificates()


def test_a_build_that_waits_for_another_ends_when_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    class Taken:
        def __init__(self, *_: object, **__: object) -> None: ...

        def __enter__(self) -> None:
            raise NameTaken

        def __exit__(self, *_: object) -> None: ...

    class Cancelled(Exception):
        pass

    said: list[str] = []

    def log(line: str) -> None:
        said.append(line)
        if len(said) == 3:
            raise Cancelled

    monkeypatch.setattr(packages, "Installer", Taken)
    monkeypatch.setattr(packages, "_existing", lambda *_: None)
    monkeypatch.setattr(packages, "WAIT_SECONDS", 0.0)
    monkeypatch.setattr(packages, "LOOK_SECONDS", 0.0)
    with pytest.raises(Cancelled):
        package_image(
            cast(docker.DockerClient, None), "sha256:1", ("numpy",), base={}, prefix="test", network=Network(), log=log
        )
    assert said[0] == "Another build installs the same requirements; waiting for it."
    assert said[1:] == ["Still waiting after 0 s."] * 2
