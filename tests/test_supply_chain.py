"""What the arena is made of: versions that are named, a bill of materials, and a look for known weaknesses."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = ("docker-compose.yml", "docker-compose.tls.yml", "deploy/worker/docker-compose.yml", "Dockerfile")


def program(name: str) -> ModuleType:
    """One of the scripts in .ci, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_image_of_others_has_a_version() -> None:
    named = {
        found
        for path in FILES
        for line in (ROOT / path).read_text().splitlines()
        for found in re.findall(r"(?:image: |_IMAGE[:=]-?)(?:\$\{\w+:-)?([a-z][\w./-]*(?::[\w.-]+)?)", line)
    } - {"rl-arena", "rl-arena-base"}
    assert len(named) > 10
    assert [name for name in sorted(named) if not re.search(r":v?\d", name)] == []


def test_the_bill_of_materials_names_what_is_installed() -> None:
    command = [sys.executable, ".ci/sbom.py"]
    shown = [subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout for _ in range(2)]
    assert shown[0] == shown[1]
    made = json.loads(shown[0])
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.5")
    names = {part["purl"].partition("@")[0] for part in made["components"]}
    assert {"pkg:pypi/django", "pkg:npm/uplot", "pkg:generic/python"} <= names
    references = [part["bom-ref"] for part in made["components"]]
    assert len(references) == len(set(references))


def a_row(**more: Any) -> dict[str, Any]:
    return {"name": "one", "version": "1.0", **more}


HOLE = {"id": "PYSEC-1", "fix_versions": ["1.1"]}


@pytest.mark.parametrize(
    ("rows", "status", "sentence"),
    [
        ([a_row(vulns=[])], 0, "no known weakness in 1 packages"),
        ([a_row(vulns=[HOLE]), a_row(skip_reason="not found")], 1, "one 1.0: PYSEC-1, mended in 1.1"),
        ([a_row(skip_reason="not found")], 2, "out of reach"),
        ([a_row(vulns=[]), a_row(skip_reason="not found")], 2, "1 of 2 packages were not found"),
    ],
)
def test_the_audit_of_python_says_what_it_does_not_know(rows: list[dict[str, Any]], status: int, sentence: str) -> None:
    found, lines = program("audit").of_python(json.dumps({"dependencies": rows}))
    assert found == status
    assert sentence in lines[0]


def test_the_audit_of_scripts_says_what_it_does_not_know() -> None:
    of_scripts = program("audit").of_scripts
    assert of_scripts("")[0] == of_scripts('{"error": {}}')[0] == 2
    assert of_scripts('{"vulnerabilities": {}}') == (0, ["npm audit: no known weakness."])
    assert of_scripts('{"vulnerabilities": {"uplot": {"severity": "high"}}}') == (1, ["uplot: high"])


def test_the_image_of_the_site_has_neither_tests_nor_benchmarks() -> None:
    left_out = (ROOT / ".dockerignore").read_text().split()
    assert {"tests", "**/tests", "benchmarks", ".git", ".env"} <= set(left_out)
    tests = re.compile(r"^\s*(?:from|import) (?:[\w.]+\.)?(?:tests|benchmarks)\b", re.MULTILINE)
    shown = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    needing = [
        name
        for name in shown.split()
        if not {"tests", "benchmarks"} & set(Path(name).parts)
        and not name.endswith("conftest.py")
        and (ROOT / name).exists()
        and tests.search((ROOT / name).read_text())
    ]
    assert needing == []
