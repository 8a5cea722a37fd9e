"""The command `sandbox_check` on sandboxes with and without protections."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from arena_kit.sandbox.probes.bombs import BOMBS
from arena_kit.sandbox.probes.walls import WALLS


def check(*arguments: str) -> tuple[str, str]:
    """Run the command; return its output and its error."""
    output = StringIO()
    try:
        call_command("sandbox_check", *arguments, stdout=output)
    except CommandError as error:
        return output.getvalue(), str(error)
    return output.getvalue(), ""


@pytest.mark.docker
@pytest.mark.nightly
def test_every_protection_of_the_docker_sandbox_holds() -> None:
    output, error = check("--sandbox", "docker", "--json")

    assert error == ""
    found = json.loads(output)
    assert [line["tried"] for line in found if not line["held"]] == []
    assert {line["protection"] for line in found} == {
        "engine", *(wall.protection for wall in WALLS), *(bomb.protection for bomb in BOMBS)
    }  # fmt: skip
    assert all(line["tried"] and isinstance(line["happened"], str) for line in found)
    assert len(found) == 1 + len(WALLS) + len(BOMBS)


@pytest.mark.docker
def test_a_quick_check_says_one_line_when_all_is_well() -> None:
    assert check("--sandbox", "docker", "--quick") == (
        f"Sandbox docker: all {1 + len(WALLS)} protections hold.\n", ""
    )  # fmt: skip


@pytest.mark.slow
def test_a_sandbox_without_walls_is_a_table_of_what_is_open_and_an_error() -> None:
    output, error = check("--sandbox", "process", "--quick")

    lines = output.splitlines()
    assert all(line.endswith(" NO") for line in lines)
    assert f"{len(lines)} of {len(WALLS)} protections of the sandbox process do not hold" in error
    assert any("32-bit entry" in line for line in lines)


def test_without_an_engine_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'nobody.sock'}")

    output, error = check("--sandbox", "docker", "--quick")

    assert output == ""
    assert error.startswith("The sandbox docker cannot be checked: No Docker engine answers")
