"""A submission's requirements are names with versions, in one of two kinds of files."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from pip._internal.req.req_file import break_args_options, preprocess

from arena_kit.upload.archive import ArchiveReport, decoded
from arena_kit.upload.requirements import (
    MAX_REQUIREMENTS,
    Requirements,
    RequirementsRefused,
    parse_environment_yml,
    parse_requirements,
    read_requirements,
)

PIP_LIST = "Package    Version\n---------- -------\n"


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
        ("numpy \\\n--no-binary :all:", "requirements_line"),
        ("numpy --no-binary=:all:", "requirements_line"),
        ("numpy==1.0 --hash=sha256:00 -e .", "requirements_line"),
        ("--hash=sha256:00", "requirements_option"),
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


EXPORT = "# This file may be used to create an environment using:\n# $ conda create --name <env> --file <this file>\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("numpy==1.26.4 \\\n    --hash=sha256:00ff \\\n    --hash=sha256:11ee\n", ["numpy==1.26.4"]),
        ("numpy==1.26.4 --hash=sha256:00ff\nscipy --hash sha512:aa\n", ["numpy==1.26.4", "scipy"]),
        ("torch>=2, \\\n  <3\n", ["torch<3,>=2"]),
        ("numpy \\", ["numpy"]),
        ("numpy  # für das Netz\n# 神经网络\ntqdm # \u0441\u0435\u0442\u044c\n", ["numpy", "tqdm"]),
        (f"{EXPORT}_libgcc_mutex=0.1=main\nnumpy=1.26.4=py311_0\n", ["numpy==1.26.4.*"]),
        ("ca-certificates=2024=h0\npytorch=2.1.0=py3.11_cpu_0\n", ["torch==2.1.0.*"]),
        (f"{EXPORT}tqdm=4.66.1=pypi_0\nvs2015_runtime=14.3=h1\nm2w64-gmp=6.1=2\n", ["tqdm==4.66.1.*"]),
        ("torch==2.3.0+cpu\n", ["torch==2.3.0"]),
        ("torch==2.1.0+cu121\ntorchvision==0.16.0+cu121", ["torch==2.1.0", "torchvision==0.16.0"]),
        ("numpy\npywin32==306\nappnope==0.1.3\npywinpty\npyobjc-core==9", ["numpy"]),
        ("gym==0.21.0", ["gym==0.21.0"]),
        (f"{PIP_LIST}numpy      1.26.4\npip        24.0\ntorch      2.2.0+cpu\n", ["numpy==1.26.4", "torch==2.2.0"]),
        ("Package Version Editable project location\n--- --- ---\nnumpy 1.26.4 /home/me/x\n", ["numpy==1.26.4"]),
        ("numpy\u00a0>=1.20\n\u3000\nscipy\u2003==1.11 # \u6570", ["numpy>=1.20", "scipy==1.11"]),
    ],
)  # fmt: skip
def test_what_tools_write_is_read(text: str, lines: list[str]) -> None:
    assert list(parse_requirements(text).lines) == lines


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("gym==0.21.0", "gym has no wheels: write gymnasium instead."),
        ("sklearn", "sklearn has no wheels: write scikit-learn instead."),
        ("stable-baselines", "write stable-baselines3 instead."),
        ("torch==2.3.0+cpu", "torch==2.3.0+cpu is read as torch==2.3.0: the package index has no other builds."),
        ("pywin32==306", "pywin32==306 is left out: players run on Linux, and it is for other systems."),
        (f"{EXPORT}numpy=1=0", "is read as written by conda list --export."),
        (f"{PIP_LIST}numpy 1.26.4", "is read as written by pip list."),
    ],
)
def test_a_note_says_what_was_read_otherwise_than_written(text: str, note: str) -> None:
    assert any(note in one for one in parse_requirements(text).notes)


@pytest.mark.parametrize(
    "line",
    ["vs2015_runtime=14.27", "vc=14.2", "ucrt", "m2w64-gcc-libs=5.3", "msys2-conda-epoch", "pywinpty", "win_inet_pton",
     "appnope", "python.app=3", "pyobjc-core", "cctools_osx-64=973", "clang_osx-arm64", "wincertstore=0.2",
     "console_shortcut=0.1=4", "icc_rt=2022", "libcxx=14.0.6", "llvm-openmp"],
)  # fmt: skip
def test_packages_of_windows_and_macos_are_left_out_as_those_of_linux(line: str) -> None:
    result = parse_environment_yml(f"dependencies: ['{line}', numpy]")
    assert result.lines == ("numpy",)
    assert "is left out" in result.notes[0]


@pytest.mark.parametrize(
    ("text", "lines", "sentence"),
    [
        ("scipy @ file:///x\n-e .\nnumpy=1.26\n", [1, 2, 3], "Write == instead of =."),
        ("a @ file:///a\nb\nc @ https://c.example\n", [1, 3], "pip list --format=freeze > requirements.txt"),
        ("./a\n./b\n", [1, 2], "Addresses and paths are not allowed"),
        ("-e .\n" * 40, [*range(1, 21)], "options like -e are not allowed. Remove the line."),
        ("n\u00fcmpy\n\nsc\u00efpy\n", [1, 3], "but in comments"),
        (f"{PIP_LIST}n\u00fcmpy 1.0\nnumpy 1.0\n-e .\n", [3, 5], "options like -e"),
    ],
)
def test_all_mistakes_are_named_at_once_up_to_twenty(text: str, lines: list[int], sentence: str) -> None:
    with pytest.raises(RequirementsRefused) as caught:
        parse_requirements(text)
    assert [caught.value.line, *(one.line for one in caught.value.others)] == lines
    assert all(f"requirements.txt, line {line}" in str(caught.value) for line in lines)
    assert sentence in str(caught.value)


def test_all_mistakes_of_an_environment_are_named_at_once() -> None:
    with pytest.raises(RequirementsRefused) as caught:
        parse_environment_yml("dependencies: ['a@b', 1, {pip: ['-e .', 'x @ file:///x']}]")
    assert len(caught.value.others) == 3


def test_an_explicit_list_of_conda_gets_advice() -> None:
    with pytest.raises(RequirementsRefused, match="conda env export > environment.yml"):
        parse_requirements("@EXPLICIT\nhttps://conda.example/a.conda\n")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("Requirements.txt", "rename it to requirements.txt"),
        ("requirement.txt", "rename it to requirements.txt"),
        ("REQUIREMENTS.TXT", "rename it to requirements.txt"),
        ("requirements.txt.txt", "rename it to requirements.txt"),
        ("requirements-dev.txt", "rename it to requirements.txt"),
        ("conda.yml", "rename it to environment.yml"),
        ("Environment.yml", "rename it to environment.yml"),
        ("Pipfile", "write its packages as lines of requirements.txt"),
        ("poetry.lock", "write its packages as lines of requirements.txt"),
        ("pyproject.toml", "write its packages as lines of requirements.txt"),
    ],
)
def test_requirements_under_another_name_are_not_read_without_a_word(name: str, advice: str) -> None:
    read = "[project]\ndependencies = ['numpy']\n".format
    (note,) = read_requirements(ArchiveReport("player.py", ("player.py", name), 0), read).notes
    assert note.startswith(f"{name} is not read: {advice}")


def test_settings_of_tools_alone_are_no_requirements() -> None:
    report = ArchiveReport("player.py", ("player.py", "pyproject.toml"), 0)
    assert read_requirements(report, "[tool.ruff]\nline-length = {}\n".format) == Requirements(())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name: rl\ndependencies:\n  - numpy\n\t- torch\n", "line 4: this is not valid YAML. Indent it with spaces"),
        ("dependencies: [numpy\n", "line 2: this is not valid YAML."),
    ],
)
def test_a_mistake_in_yaml_is_named_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(RequirementsRefused) as caught:
        parse_environment_yml(text)
    assert f"environment.yml, {sentence}" in str(caught.value)
    assert caught.value.line == int(sentence[5])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_requirements_are_read_in_the_encodings_of_windows(encoding: str) -> None:
    text = decoded("numpy==2.0\r\n# \u00fc\r\n".encode(encoding), "requirements.txt")
    assert parse_requirements(text).lines == ("numpy==2.0",)
