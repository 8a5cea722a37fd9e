"""Conda environments as people write them, each with what the arena makes of it in its first lines."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

from arena_kit.upload.archive import ArchiveReport, read_text
from arena_kit.upload.conda import conda_requirement, parse
from arena_kit.upload.conda_names import CONDA_ONLY, WHEELS, is_conda_only, likely_wheel
from arena_kit.upload.pythons import ChosenPython, choose_python, read_wanted_python
from arena_kit.upload.requirements import parse_environment_yml
from arena_kit.upload.zip_safety import ArchiveRefused

FILES = sorted((Path(__file__).parent / "conda_files").glob("*.yml"))
OFFERED = ((3, 11), (3, 8), (3, 9), (3, 10), (3, 12), (3, 7))
HOW = re.compile(r"# installs:(.*)\n# python: (any|3\.\d+)( or later)?( or 3\.\d+)?\n")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_gives_wheels_and_a_python(path: Path) -> None:
    text = path.read_text()
    told = HOW.match(text)
    assert told is not None
    found = parse_environment_yml(text)
    expected = re.split(r", (?=[a-z])", told[1].strip()) if told[1].strip() else []
    assert list(found.lines) == expected
    report = ArchiveReport("player.py", ("player.py", "environment.yml"), 0)
    wanted = read_wanted_python(report, lambda _: text)
    if told[2] == "any":
        assert wanted is None
        return
    assert wanted is not None
    named = (3, int(told[2].removeprefix("3.")))
    assert wanted.fits(named)
    assert wanted.fits((3, 99)) is bool(told[3])
    assert choose_python(wanted, (named, (2, 7))) == ChosenPython(named)


def test_what_is_left_out_or_renamed_is_noted() -> None:
    text = (Path(__file__).parent / "conda_files" / "opencv_and_tables.yml").read_text()
    assert parse_environment_yml(text).notes == (
        "environment.yml: opencv=4.8.1 is installed as the wheel opencv-python-headless.",
        "environment.yml: pytables=3.8 is installed as the wheel tables.",
        "environment.yml: msgpack-python=1.0.3 is installed as the wheel msgpack.",
        "environment.yml: ffmpeg is left out: only conda has it, and wheels bring what they need.",
    )


@pytest.mark.parametrize(
    "item",
    ["", "  ", "[x]", "numpy[version]", "numpy[version='1", "a b[c]d", "a]", "a[b]]", "a[[b]", "nümpy", "-e .", "=1"],
)
def test_a_line_that_is_no_package_is_not_understood(item: str) -> None:
    assert conda_requirement(item) is None


@pytest.mark.parametrize(
    "item", ["a" + " " * 60_000 + "]", "a" * 60_000 + "]", "a[k=" + " " * 60_000, "a" + " ," * 9_000]
)
def test_a_line_that_is_long_on_purpose_is_refused_at_once(item: str) -> None:
    # One pattern for the whole line took minutes for a thousand spaces, and nothing could interrupt it.
    assert parse(item) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".python-version", "3." + "9" * 5000),
        ("pyproject.toml", f'[project]\nrequires-python = ">=3.{"9" * 5000}"\n'),
        ("pyproject.toml", f"[project]\nx = {'9' * 5000}\n"),
        ("environment.yml", f"dependencies: ['python=3.{'9' * 250}']\n"),
    ],
)
def test_a_version_that_no_python_has_is_not_understood(name: str, text: str) -> None:
    report = ArchiveReport("player.py", ("player.py", name), 0)
    asked = read_wanted_python(report, lambda _: text)
    assert choose_python(asked, ((3, 11), (3, 12))) == ChosenPython((3, 11))


@pytest.mark.parametrize("data", [b"#" * 65_537, b"\xff"])
def test_a_project_file_that_cannot_be_read_leaves_the_default_with_a_note(data: bytes) -> None:
    def read(name: str) -> str:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(name, data)
        return read_text(file, name)

    report = ArchiveReport("player.py", ("player.py", "pyproject.toml"), 0)
    chosen = choose_python(read_wanted_python(report, read), ((3, 12), (3, 11)))
    assert chosen.version == (3, 12)
    assert chosen.note.startswith("The Python version in pyproject.toml was not read: pyproject.toml is ")
    # All other files that say so are needed to build the agent.
    conda = ArchiveReport("player.py", ("player.py", "environment.yml"), 0)
    with pytest.raises(ArchiveRefused):
        read_wanted_python(conda, read)


@pytest.mark.parametrize(
    ("wanted", "offered", "expected", "is_noted"),
    [
        ("==3.12.*", ((3, 11), (3, 12)), (3, 12), False),
        (">=3.9", ((3, 11), (3, 12)), (3, 11), False),
        (">=3.12", ((3, 11), (3, 13), (3, 12)), (3, 12), False),
        (">=3.11.4", ((3, 11),), (3, 11), False),
        ("==3.8.*", ((3, 11), (3, 12)), (3, 11), True),
        (">=3.14", ((3, 11), (3, 13)), (3, 13), True),
        ("<3.10", ((3, 12), (3, 11)), (3, 11), True),
        ("not a version", ((3, 11), (3, 12)), (3, 11), False),
    ],
)
def test_the_base_that_fits_or_the_nearest_is_chosen(
    wanted: str, offered: tuple[tuple[int, int], ...], expected: tuple[int, int], is_noted: bool
) -> None:
    report = ArchiveReport("player.py", ("player.py", "pyproject.toml"), 0)
    asked = read_wanted_python(report, lambda _: f'[project]\nrequires-python = "{wanted}"\n')
    chosen = choose_python(asked, offered)
    assert (chosen.version, bool(chosen.note)) == (expected, is_noted)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.12\n", (3, 12)),
        ("# mine\n3.12.4\n3.9\n", (3, 12)),
        ("cpython-3.12.1", (3, 12)),
        ("pypy3.10-7.3", (3, 11)),
        ("", (3, 11)),
        ("3", (3, 11)),
    ],
)
def test_a_python_version_file_comes_first(text: str, expected: tuple[int, int]) -> None:
    files = {".python-version": text, "pyproject.toml": "[broken"}
    report = ArchiveReport("player.py", tuple(files), 0)
    assert choose_python(read_wanted_python(report, files.__getitem__), ((3, 11), (3, 12))).version == expected


def test_the_tables_hold_names_in_normal_form_and_no_name_twice() -> None:
    assert len(WHEELS) >= 60
    assert [name for name in WHEELS if not re.fullmatch(r"[a-z0-9-]+", name)] == []
    assert [name for name in CONDA_ONLY if not re.fullmatch(r"[a-z0-9-]+", name)] == []
    assert [name for name in WHEELS if is_conda_only(name)] == []


@pytest.mark.parametrize(
    ("name", "wheel"),
    [
        ("cv2", "opencv-python-headless"),
        ("sklearn", "scikit-learn"),
        ("pytoch", "torch"),
        ("stable-baselines", "stable-baselines3"),
        ("gymnasim", "gymnasium"),
        ("numpy", None),
        ("qqqq", None),
    ],
)
def test_a_wrong_name_is_told_the_wheel_that_it_is_like(name: str, wheel: str | None) -> None:
    assert likely_wheel(name) == wheel
