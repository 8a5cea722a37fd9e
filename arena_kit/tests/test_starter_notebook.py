"""The notebook with which an agent begins: every environment has one, and its cells are Python."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

from arena_kit.cli.main import main
from arena_kit.environment.registry import all_specs, get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.kits import BadName, UnknownKit
from arena_kit.starter_notebook import notebook

SPECS = [pytest.param(spec, id=spec.slug) for spec in all_specs()]


def code(text: str) -> list[str]:
    found: Any = nbformat.reads(text, as_version=4)
    nbformat.validate(found)
    return [cell.source for cell in found.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("spec", SPECS)
def test_every_environment_has_a_notebook_without_gaps(spec: EnvironmentSpec) -> None:
    text = notebook(spec, "my_agent", site="https://arena.example", install='"arena-kit @ https://arena.example/x"')
    cells = code(text)
    assert cells[0] == '%pip install -q "arena-kit @ https://arena.example/x"'
    for cell in cells[1:]:
        ast.parse(cell)
    assert "$" not in text
    assert f'arena_kit.make("{spec.slug}")' in text.replace('\\"', '"')


def test_without_a_site_nothing_is_installed_and_submitted() -> None:
    text = "\n".join(code(notebook(get_spec("connect-four"), "my_agent")))
    assert "submit" not in text
    assert "pip" not in text
    assert "write_agent" in text


def test_the_cells_play_check_and_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "cells"}
    for cell in code(notebook(get_spec("pendulum"), "my_agent")):
        if "write_agent" not in cell and "check" not in cell:
            exec(cell, names)
    assert len(names["result"].record.episodes) == 10


def test_the_command_writes_a_notebook_and_replaces_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["new", "mine", "--environment", "tic-tac-toe", "--notebook"]
    assert main(words) == 0
    assert 'write_agent(MyPlayer, "mine")' in (tmp_path / "mine.ipynb").read_text().replace('\\"', '"')
    assert not (tmp_path / "mine").exists()
    capsys.readouterr()
    assert main(words) == 2
    assert "mine.ipynb exists already" in capsys.readouterr().err
    assert main([*words[:1], "other", *words[2:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"notebook": "other.ipynb", "environment": "tic-tac-toe-v2"}


def test_names_and_seats_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BadName):
        notebook(get_spec("tic-tac-toe"), "../x")
    with pytest.raises(UnknownKit, match="has 3 seats"):
        notebook(replace(get_spec("tic-tac-toe"), seats=3), "mine")


def test_an_environment_of_organisers_is_fetched_first() -> None:
    spec = replace(get_spec("tic-tac-toe"), is_outside=True)
    text = "\n".join(code(notebook(spec, "mine", site="https://arena.example")))
    assert f"!arena pull {spec.slug} --site https://arena.example" in text
    assert f'arena_kit.make("{spec.slug}", environments="environments")' in text
