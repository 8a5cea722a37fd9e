"""A submission's requirements are names with versions, in one of two kinds of files."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from pip._internal.req.req_file import break_args_options, preprocess

from arena_kit.upload.archive import ArchiveReport
from arena_kit.upload.requirements import (
    MAX_REQUIREMENTS,
    Requirements,
    RequirementsRefused,
    parse_environment_yml,
    parse_requirements,
    read_requirements,
)


def test_lines_are_normalised_sorted_and_without_comments() -> None:
    text = "\ufeff# for the net\r\ntorch>=2.1 , <3\r\nnumpy==1.26.4 # pinned\n\nNumPy[all]\nnumpy==1.26.4\n"

    assert parse_requirements(text).lines == ("numpy==1.26.4", "NumPy[all]", "torch<3,>=2.1")


def test_markers_are_kept() -> None:
    assert parse_requirements("tomli; python_version<'3.11'").lines == ('tomli; python_version < "3.11"',)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("-r /etc/passwd", "requirements_option"),
        ("--index-url https://evil.example", "requirements_option"),
        ("--no-binary :all:", "requirements_option"),
        ("-e .", "requirements_option"),
        ("./evil", "requirements_line"),
        ("/tmp/evil.whl", "requirements_line"),
        ("evil @ file:///tmp/evil", "requirements_url"),
        ("evil @ https://evil.example/evil.whl", "requirements_url"),
        ("git+https://evil.example/evil.git", "requirements_line"),
        ("numpy \\", "requirements_line"),
        ("numpy --no-binary=:all:", "requirements_line"),
        ("numpy==1.0 --hash=sha256:00", "requirements_line"),
        ("numpy\x00", "requirements_line"),
        ("numpy\x0b--no-binary :all:", "requirements_line"),
        ("numpy\r-r evil", "requirements_line"),
        ("numpy ==", "requirements_line"),
        ('numpy; python_version < "${PIP_INDEX_URL}"', "requirements_line"),
        ('numpy; python_version < "3\x0b--no-binary :all:"', "requirements_line"),
        ('numpy; python_version < "3\x1c-r evil"', "requirements_line"),
        ('numpy; python_version < "3 --no-binary=:all: "', "requirements_line"),
        ('numpy; python_version < "3 -r evil"', "requirements_line"),
        ("numpy===${HOME}", "requirements_line"),
        ("numpy===1.0/../evil", "requirements_line"),
        ("numpy===C:\\evil", "requirements_line"),
        ("n" * 301, "requirements_line"),
        ("nu\u2010mpy", "requirements_not_ascii"),
        ("\n" * (64 * 1024 + 1), "requirements_too_large"),
        ("\n".join(f"p{number}" for number in range(MAX_REQUIREMENTS + 1)), "too_many_requirements"),
    ],
)
def test_anything_but_a_name_with_versions_is_refused(line: str, code: str) -> None:
    with pytest.raises(RequirementsRefused) as caught:
        parse_requirements(line)

    assert caught.value.code == code
    assert str(caught.value).startswith("requirements.txt")


def test_a_refusal_names_the_line() -> None:
    with pytest.raises(RequirementsRefused, match=r"requirements\.txt, line 2: options like -e are not allowed"):
        parse_requirements("numpy\n-e .\n")


def test_conda_names_become_requirements_and_the_rest_is_noted() -> None:
    result = parse_environment_yml(
        """
name: bot
channels: [conda-forge]
dependencies:
  - python=3.8
  - pip
  - _libgcc_mutex=0.1=main
  - numpy=1.26.4=py311h_0
  - conda-forge::scipy>=1.10
  - pandas 2.1
  - numba==0.60.0=py311_0
  - tqdm=*
  - pip:
      - torch==2.1.0
      - einops
"""
    )

    assert result.lines == (
        "einops", "numba==0.60.0", "numpy==1.26.4.*", "pandas==2.1", "scipy>=1.10", "torch==2.1.0", "tqdm",
    )  # fmt: skip
    channels, *ignored = result.notes
    assert channels.startswith("The channels in environment.yml are ignored")
    assert [note.split(" ")[1] for note in ignored] == ["pip", "_libgcc_mutex=0.1=main"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "dependencies: numpy",
        "dependencies: [1]",
        "dependencies: [{conda: [x]}]",
        "dependencies: [{pip: numpy}]",
        "dependencies: [{pip: [1]}]",
        "dependencies: [unclosed",
        "dependencies: !!python/object/apply:os.system [id]",
        "a: &a [x]\ndependencies: *a",
        "dependencies: " + "[" * 60_000,
        "- " * 30_000,
        "dependencies: [" + "a," * 30_000 + "]",
        "dependencies: [numpy@evil]",
        "dependencies: ['nu\u00ffmpy']",
        "x: 2001-99-99",
        "%YAML 9.9\n---\ndependencies: []",
        "#" * (64 * 1024 + 1),
    ],
)
def test_other_yaml_is_refused(text: str) -> None:
    with pytest.raises(RequirementsRefused, match=r"environment\.yml"):
        parse_environment_yml(text)


@pytest.mark.parametrize("line", ["-r requirements.txt", "x @ https://evil.example/x.whl", "git+https://e.example/x"])
def test_the_pip_part_follows_the_rules_of_requirements(line: str) -> None:
    with pytest.raises(RequirementsRefused, match="pip part"):
        parse_environment_yml(f"dependencies: [pip: ['{line}']]")


def test_an_archive_is_read_by_its_requirements_first() -> None:
    files = {"requirements.txt": "numpy", "environment.yml": "dependencies: [scipy]"}
    both = ArchiveReport("player.py", ("player.py", *files), 0)
    conda = ArchiveReport("player.py", ("player.py", "environment.yml"), 0)
    none = ArchiveReport("player.py", ("player.py", "sub/requirements.txt"), 0)

    assert read_requirements(both, files.__getitem__).lines == ("numpy",)
    assert read_requirements(conda, files.__getitem__).lines == ("scipy",)
    assert read_requirements(none, files.__getitem__) == Requirements(())


PARTS = (
    "numpy", "six", "==", "===", ">=", "~=", "1.0", "*", ",", ";", " ", "python_version", "<", '"', "'", "in", "and",
    "(", ")", "[", "]", "extra", "@", "file:///etc/passwd", "https://e.example/x.whl", "git+https://e.example/x", "-e",
    "./evil", "-r ", "--index-url ", "--no-binary=:all:", "${HOME}", "$(id)", "\\", "\n", "\r", "\x0b", "\x0c", "\x1c",
    "\x85", "\u2028", "\x00", "#", "%", "|", "`",
)  # fmt: skip
TEXTS = st.one_of(
    st.lists(st.sampled_from(PARTS), max_size=14).map("".join),
    st.builds('numpy; python_version < "{}"'.format, st.lists(st.sampled_from(PARTS), max_size=8).map("".join)),
    st.text(max_size=60),
)


@given(TEXTS)
def test_what_pip_is_given_is_one_name_a_line_and_nothing_else(text: str) -> None:
    try:
        accepted = parse_requirements(text).lines
    except RequirementsRefused:
        return
    read = [line for _, line in preprocess("\n".join(accepted))]
    assert read == list(accepted)
    for line in read:
        assert break_args_options(line) == (line, "")
        assert Requirement(line).url is None
        assert not re.search(r"[$\\/:@{}#\x00-\x1f]", line)


YAML = (*PARTS, "\n  - ", "dependencies:\n  - ", "  - pip:\n      - ", ": ", "&a", "*a", "!!x")


@given(st.lists(st.sampled_from(YAML), max_size=16).map("".join))
def test_any_environment_is_refused_with_a_sentence_or_gives_plain_lines(text: str) -> None:
    try:
        accepted = parse_environment_yml(text).lines
    except RequirementsRefused:
        return
    assert [line for _, line in preprocess("\n".join(accepted))] == list(accepted)


def test_markers_with_lists_of_versions_stay() -> None:
    line = 'tomli; python_version in "3.9 3.10" and platform_machine != "arm64-v8"'

    assert parse_requirements(line).lines == (line,)
