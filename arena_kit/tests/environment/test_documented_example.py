"""What the documents say about environments is true, and the environment in their example works."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from arena_kit.environment.conformance import check_environment
from arena_kit.environment.info import read_info
from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.tests.environment.playing import GAMES, TASKS

DOCS = Path(__file__).parents[3] / "docs"
GUIDE = (DOCS / "contributor" / "environments.md").read_text(encoding="utf-8")
SHIPPED = (DOCS / "reference" / "environments.md").read_text(encoding="utf-8")
KEYS = (DOCS / "reference" / "environment-files.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return the code blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def test_the_example_conforms(tmp_path: Path) -> None:
    folder = tmp_path / "nim"
    (folder / "static").mkdir(parents=True)
    environment, render = blocks("python")
    (folder / "environment.py").write_text(environment)
    (folder / "render.py").write_text(render)
    (folder / "info.yml").write_text(blocks("yaml")[0])
    (folder / "static" / "nim.svg").write_text(blocks("xml")[0])
    spec = read_info(folder / "info.yml")
    check_environment(spec)
    assert (spec.id, spec.limits) == ("nim-v1", Limits(move_seconds=1.0))


def test_every_key_of_an_info_file_is_explained() -> None:
    table = KEYS.partition("## `info.yml`")[2].partition("\n## ")[0]
    keys = {*EnvironmentSpec.__dataclass_fields__, *Limits.__dataclass_fields__} - {
        "folder",
        "file",
        "kept_text",
        "classic",
        "is_outside",
        "from_start",
        "announced_at",
        "keeps_twins",
    }
    assert {key for key in keys if f"`{key}`" not in table} == set()


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: str(spec.id))
def test_the_table_of_the_games_names_every_one(spec: EnvironmentSpec) -> None:
    table = SHIPPED.partition("\n## Environments of Gymnasium")[0]
    assert f"`{spec.id}`" in table
    assert f"{spec.observation.shape[0]} numbers" in table
    assert f" {spec.matches_per_duel} |" in table


@pytest.mark.parametrize("spec", TASKS, ids=lambda spec: str(spec.id))
def test_the_table_of_the_tasks_has_their_figures(spec: EnvironmentSpec) -> None:
    (row,) = re.findall(rf"^\| .* \| `{spec.slug}` \|.*$", SHIPPED, re.MULTILINE)
    name, _, public_id, state, actions, steps, episodes, solved, extra = (
        cell.strip(" `") for cell in row.strip("|").split(" | ")
    )
    kind = "real" if spec.observation.wire.startswith("float") else "whole"
    assert spec.gymnasium is not None
    assert (name, public_id, extra) == (spec.name, spec.public_id, spec.gymnasium.extra)
    assert state == f"{math.prod(spec.observation.shape)} {kind}"
    assert actions == (
        f"0` to `{spec.action_count - 1}" if spec.action is None else f"{math.prod(spec.action.shape)} real"
    )
    assert (int(steps), int(episodes)) == (spec.max_steps, spec.episodes_per_evaluation)
    assert solved.replace("−", "-") == ("" if spec.solved_score is None else f"{spec.solved_score:g}")
