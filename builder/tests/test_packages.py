"""What pip's answers mean: the owner's fault, the platform's, or a fall-back with a warning."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast
from unittest.mock import MagicMock

import pytest

from builder.errors import BuilderUnavailable, BuildFailed
from builder.installer import INSTALL_SECONDS, TIMED_OUT, Installer, _lines
from builder.packages import MAX_FALL_BACKS, Network, _failure, _install, _warning

MISSING = "ERROR: No matching distribution found for {}"
BASE = {"numpy": "1.24.2", "pip": "23.0"}


class Answers:
    """Stands for an Installer: gives prepared answers and keeps what was asked."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self._answers: Iterator[tuple[int, str]] = iter(answers)
        self.asked: list[tuple[str, ...]] = []

    def install(self, lines: tuple[str, ...], log: Callable[[str], None]) -> tuple[int, str]:
        self.asked.append(lines)
        return next(self._answers)

    def versions(self) -> dict[str, str]:
        return BASE


def install(pip: Answers, *lines: str) -> list[str]:
    return _install(cast(Installer, pip), list(lines), print)


def test_a_pin_without_a_wheel_is_given_up_when_the_base_image_has_the_package() -> None:
    pip = Answers((1, MISSING.format("NumPy==1.16.4")), (0, ""))

    assert install(pip, "NumPy==1.16.4", "tqdm") == ["NumPy==1.16.4"]
    assert pip.asked == [("NumPy==1.16.4", "tqdm"), ("tqdm",)]


def test_pip_is_not_asked_to_install_nothing() -> None:
    pip = Answers((1, MISSING.format("numpy==1.16.4")))

    assert install(pip, "numpy==1.16.4") == ["numpy==1.16.4"]


@pytest.mark.parametrize(("missing", "named"), [("torch==1.0", "torch==1.0"), ("inner-part", "inner-part")])
def test_a_package_that_is_nowhere_fails_the_build(missing: str, named: str) -> None:
    with pytest.raises(BuildFailed, match=f"^There is no wheel for {named}") as caught:
        install(Answers((1, MISSING.format(missing))), "torch==1.0", "numpy")

    assert caught.value.code == "no_wheel"


def test_without_an_index_nothing_falls_back() -> None:
    output = "WARNING: ... Max retries exceeded with url: /simple/numpy/\n" + MISSING.format("numpy==1.16.4")

    with pytest.raises(BuilderUnavailable) as caught:
        install(Answers((1, output)), "numpy==1.16.4")

    assert caught.value.code == "index_unreachable"


def test_the_warning_names_the_version_that_is_used() -> None:
    assert _warning("numpy==1.16.4", {}, BASE).endswith("version 1.24.2 of the base image is used.")
    assert _warning("numpy==1.16.4", {"numpy": "2.1"}, BASE).endswith("version 2.1 is used.")


@pytest.mark.parametrize(
    ("status", "output", "kind", "code"),
    [
        (1, "OSError: [Errno 28] No space left on device", BuilderUnavailable, "disk_full"),
        (1, "Temporary failure in name resolution", BuilderUnavailable, "index_unreachable"),
        (1, "ReadTimeoutError: Read timed out.", BuilderUnavailable, "index_unreachable"),
        (124, "Downloading", BuildFailed, "requirements_too_slow"),
        (124, "Max retries exceeded, Read timed out.", BuildFailed, "requirements_too_slow"),
        (137, "Downloading", BuildFailed, "requirements_too_large"),
        (1, "ERROR: Cannot install a and b\nERROR: ResolutionImpossible", BuildFailed, "requirements_failed"),
    ],
)
def test_other_failures_are_named(status: int, output: str, kind: type[Exception], code: str) -> None:
    failure = _failure(status, output)

    assert type(failure) is kind
    assert failure.code == code


def test_the_number_of_rounds_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"p{number}==1" for number in range(MAX_FALL_BACKS + 1)]
    monkeypatch.setattr(Answers, "versions", lambda _: {line.partition("=")[0]: "2" for line in lines})
    pip = Answers(*((1, MISSING.format(line)) for line in lines))

    with pytest.raises(BuildFailed, match=f"^More than {MAX_FALL_BACKS} requirements") as caught:
        install(pip, *lines)

    assert caught.value.code == "no_wheel"


class Clocked(Installer):
    """An Installer without an engine, in which every run of pip takes the same time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float, *answers: tuple[int, str]) -> None:
        self._now, self._seconds, self._answers = 1000.0, seconds, iter(answers)
        self._deadline = self._now + INSTALL_SECONDS
        self._container = MagicMock()
        self.commands: list[tuple[str, ...]] = []
        monkeypatch.setattr(time, "monotonic", lambda: self._now)

    def _run(self, command: tuple[str, ...], log: object, limit: int = 0) -> tuple[int, str]:
        self.commands.append(command)
        self._now += self._seconds
        return next(self._answers)

    def versions(self, *path: str) -> dict[str, str]:
        return BASE


def test_all_rounds_share_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Clocked(monkeypatch, INSTALL_SECONDS / 2, (1, MISSING.format("numpy==1.0")), (1, MISSING.format("pip==1")))

    with pytest.raises(BuildFailed, match="longer than 15 minutes") as caught:
        _install(pip, ["numpy==1.0", "pip==1", "tqdm"], print)

    assert caught.value.code == "requirements_too_slow"
    assert [command[:3] for command in pip.commands] == [
        ("timeout", "--kill-after=10", str(INSTALL_SECONDS)),
        ("timeout", "--kill-after=10", str(INSTALL_SECONDS // 2)),
    ]


def test_no_round_begins_without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Clocked(monkeypatch, 0)
    pip._deadline -= INSTALL_SECONDS

    assert pip.install(("six",), print) == (TIMED_OUT, "")


@pytest.mark.parametrize(("seconds", "status"), [(INSTALL_SECONDS, TIMED_OUT), (5, 137)])
def test_a_pip_killed_at_the_deadline_was_slow_and_one_killed_before_was_large(
    monkeypatch: pytest.MonkeyPatch, seconds: float, status: int
) -> None:
    assert Clocked(monkeypatch, seconds, (137, "")).install(("six",), print) == (status, "")


def test_output_is_cut_into_lines_wherever_the_pieces_end() -> None:
    assert list(_lines(iter([b"one\ntw", b"o\r\n", b"", b"caf\xe9"]))) == ["one", "two", "caf\ufffd"]


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    assert [len(line) for line in _lines(iter([b"x" * 30_000] * 3))] == [30_000] * 3


def test_missing_certificates_are_the_platforms_trouble(tmp_path: Path) -> None:
    (tmp_path / "bundle.crt").write_bytes(b"certificates")

    assert Network().read_certificates() == b""
    assert Network(certificates=str(tmp_path / "bundle.crt")).read_certificates() == b"certificates"
    with pytest.raises(BuilderUnavailable):
        Network(certificates=str(tmp_path / "nothing.crt")).read_certificates()
