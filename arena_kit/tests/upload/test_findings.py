"""What would be refused is said without an upload, in the words of an upload."""

from __future__ import annotations

import io
import re
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from arena_kit.tests.upload.test_source_warnings import PLAYER
from arena_kit.upload import inspection, source_program, source_warnings
from arena_kit.upload.findings import NOT_READ, THIS_PYTHON, Findings, archive_findings
from arena_kit.upload.folder import pack_folder
from arena_kit.upload.inspection import Obstacle, findings_apart, inspect_apart
from arena_kit.upload.zip_safety import ArchiveRefused


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a broken inspection takes this long, however busy this machine is."""
    for name in ("MOST_SECONDS", "PATIENCE_SECONDS"):
        monkeypatch.setattr(inspection, name, 300.0)


def packed(files: dict[str, str]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file


def found_in(path: Path, **options: Any) -> Findings:
    with path.open("rb") as file:
        return archive_findings(file, str(path), **options)


def of(tmp_path: Path, files: dict[str, str]) -> Findings:
    path = tmp_path / "agent.zip"
    path.write_bytes(packed(files).getvalue())
    return found_in(path)


def test_a_good_archive_and_its_folder_have_no_findings(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "net" / "__pycache__").mkdir(parents=True)
    (folder / "player.py").write_text(PLAYER)
    (folder / "net" / "__init__.py").write_text("WEIGHTS = [1]\n")
    (folder / "net" / "__pycache__" / "x.pyc").write_bytes(b"left out")
    with tempfile.NamedTemporaryFile(suffix=".zip") as file:
        pack_folder(folder, file)
        file.flush()
        assert found_in(Path(file.name)) == of(tmp_path, {"player.py": PLAYER}) == Findings()


def test_every_error_is_named_with_its_place_and_the_uploads_first(tmp_path: Path) -> None:
    files = {"player.py": "def f():\n    x =\n", "requirements.txt": "numpy\n-e .\n"}
    found = of(tmp_path, files)
    assert [(error.code, error.file, error.line) for error in found.errors] == [
        ("does_not_compile", "player.py", 2),
        ("requirements_option", "requirements.txt", 2),
    ]
    with pytest.raises(ArchiveRefused) as refused:
        inspect_apart(packed(files), sender="ada")
    assert (" ".join(error.message for error in found.errors), found.is_valid) == (str(refused.value), False)
    assert (refused.value.file, refused.value.line) == ("player.py", 2)


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"readme.txt": "x"}, "no_entry_point"),
        ({"mine/player.py": PLAYER}, "entry_point_in_folder"),
        ({"player.py": PLAYER, "environment.yml": "dependencies: [1]"}, "environment_yml"),
        ({"player.py": PLAYER, "../x": ""}, "path_traversal"),
    ],
)
def test_an_error_of_the_archive_is_the_only_one(tmp_path: Path, files: dict[str, str], code: str) -> None:
    (error,) = of(tmp_path, files).errors
    assert error.code == code


def test_what_is_left_out_of_a_conda_environment_is_a_warning(tmp_path: Path) -> None:
    found = of(tmp_path, {"player.py": PLAYER, "environment.yml": "dependencies: [python=2.7, cudatoolkit=11.3]"})
    assert found.is_valid
    assert [warning.code for warning in found.warnings] == ["python", "requirements"]


def test_files_for_a_newer_python_are_left_to_the_validation(tmp_path: Path) -> None:
    path = tmp_path / "agent.zip"
    path.write_bytes(packed({"player.py": "not python at all", ".python-version": "3.99\n"}).getvalue())
    assert [error.code for error in found_in(path).errors] == ["does_not_compile"]
    found = found_in(path, pythons=((3, 11), (3, 99)))
    assert ([warning.code for warning in found.warnings], found.errors) == (["not_compiled"], ())


DEEP = "x = " + "(" * 90 + "1" + ")" * 90
HOSTILE = {
    "long": PLAYER + "x = " + "+".join(["1"] * 500_000),
    "wide": PLAYER + "x = [" + "f(a)," * 200_000 + "]",
    "nested": PLAYER + "".join(f"{' ' * n}if x:\n" for n in range(95)) + " " * 95 + DEEP,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        pytest.param(source, id=name, marks=pytest.mark.nightly if name == "wide" else ())
        for name, source in HOSTILE.items()
    ],
)
def test_a_hostile_source_costs_only_the_limited_process(source: str) -> None:
    found = findings_apart(packed({"player.py": source}), sender="eve")
    # It compiles or not; if it does, it was read, or it is said that it could not be.
    assert isinstance(found, Obstacle) or found.errors or all(item.message == NOT_READ for item in found.warnings)


def test_findings_survive_the_way_out_of_the_process() -> None:
    found = findings_apart(packed({"player.py": PLAYER + "import socket\n"}), sender="ada")
    assert isinstance(found, Findings)
    assert [(item.code, item.file, item.line) for item in found.warnings] == [("imports_socket", "player.py", 7)]
    assert Findings.of(found.as_json()) == found
    without = findings_apart(packed({"player.py": "import socket\n"}), sender="ada", warns=False)
    assert without == Findings()


REFUSED = ["imports_socket", "dynamic_code"]


@pytest.mark.parametrize("warns", [True, False])
def test_a_site_refuses_what_it_names_in_the_words_of_the_warning(warns: bool) -> None:
    file = packed({"player.py": PLAYER + "import socket\nimport ctypes\n"})
    warned = findings_apart(file, sender="ada")
    refused = findings_apart(file, sender="ada", warns=warns, refuses=REFUSED)
    assert isinstance(warned, Findings)
    assert isinstance(refused, Findings)
    about_ctypes, about_socket = sorted(warned.warnings, key=lambda one: one.code)
    assert refused == Findings((about_socket,), (about_ctypes,) if warns else ())
    with pytest.raises(ArchiveRefused, match=re.escape(about_socket.message)):
        inspect_apart(file, sender="ada", refuses=REFUSED, is_whole=False)


@pytest.mark.parametrize(
    ("hidden", "code"),
    [
        ("open('/home/ada/x')\n" * 300 + "import socket\n", "imports_socket"),
        (f"x = {'(' * 90}eval('1'){')' * 90}\n", "dynamic_code"),
        (f"x = {'-' * 20_000}1\n", "does_not_compile"),
    ],
)
def test_what_is_hard_to_read_does_not_get_past_a_site_that_refuses(hidden: str, code: str) -> None:
    found = findings_apart(packed({"player.py": PLAYER + hidden}), sender="ada", warns=False, refuses=REFUSED)
    assert isinstance(found, Findings)
    assert code in {error.code for error in found.errors}


def test_what_cannot_be_read_is_refused_where_some_source_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_kit.upload.findings.sources_read", lambda *_, **__: None)
    path = tmp_path / "agent.zip"
    path.write_bytes(packed({"player.py": PLAYER}).getvalue())
    assert [error.code for error in found_in(path, warns=False, refuses=REFUSED).errors] == ["not_read"]
    assert found_in(path, warns=False).is_valid


def test_files_for_a_newer_python_are_not_read_and_so_refused() -> None:
    newer = (sys.version_info.major, sys.version_info.minor + 1)
    files = {"player.py": PLAYER, ".python-version": ".".join(map(str, newer))}
    options: dict[str, Any] = {"sender": "ada", "pythons": [*THIS_PYTHON, newer], "warns": False}
    found = findings_apart(packed(files), **options, refuses=REFUSED)
    assert isinstance(found, Findings)
    assert [error.code for error in found.errors] == ["not_compiled"]
    assert findings_apart(packed(files), **options) == Findings()


def test_every_warning_about_source_has_a_code_that_sites_may_name() -> None:
    sources = [Path(module.__file__ or "").read_text() for module in (source_warnings, source_program)]
    named = re.findall(r'(?:_finding|_add)\(\s*"(\w+)"|"code": "(\w+)"', "".join(sources))
    found = {one or other for one, other in named} | {f"imports_{module}" for module in source_warnings.RISKY_MODULES}
    assert found == source_warnings.CODES
    documented = (Path(__file__).parents[3] / "docs" / "participant" / "forms.md").read_text()
    assert {code for code in source_warnings.CODES if f"`{code}`" not in documented} == set()
