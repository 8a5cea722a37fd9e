"""The notebook with which an agent begins: from the rules to the leaderboard, for one environment and one site."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template

from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.examples import names
from arena_kit.kits import FOLDER, NAME, PULLED, BadName, UnknownKit

SOURCE = FOLDER / "NOTEBOOK.md"
"""Markdown whose blocks of Python become the cells of code."""
ENDING = ".ipynb"
MATCHES, EPISODES = 20, 10
_CODE = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_OF_SITE = re.compile(r"^## Submit\n.*", re.MULTILINE | re.DOTALL)


def notebook(spec: EnvironmentSpec, name: str, *, site: str = "", install: str = "", environments: str = "") -> str:
    """Return a Jupyter notebook as JSON.

    name: of the agent's folder. site: the address that it submits to; without one, nothing is submitted. install: the
    arguments of pip that install arena-kit; empty where it is installed. environments: the folder of an environment
    that arena-kit does not hold; empty for that of `arena pull`. Raises BadName, and UnknownKit beyond two seats.
    """
    if spec.seats > 2:
        raise UnknownKit(f"{spec.name} has {spec.seats} seats, and notebooks play with one or two.")
    if not NAME.fullmatch(name):
        raise BadName(f"{name!r} cannot be the name of an agent: use letters, digits, - and _, at most 50 of them.")
    folder = (environments or PULLED) if spec.runs_apart else ""
    pull = f"!arena pull {spec.slug}" + (f" --site {site}" if site else "") if folder and not environments else ""
    text = SOURCE.read_text(encoding="utf-8")
    # A notebook without a site ends with the agent's folder.
    text = text if site else _OF_SITE.sub("", text)
    array = spec.action
    random = "self.random.choice(valid_actions)" if array is None else f'np.zeros({array.shape}, "{array.dtype}")'
    filled = Template(text).safe_substitute(
        title=spec.name,
        environment=spec.slug,
        name=name,
        agent=name.replace("_", "-").lower(),
        site=site,
        and_submitted=" and is submitted" if site else "",
        install="\n".join(filter(None, [f"%pip install -q {install}" if install else "", pull])),
        option=f", environments={folder!r}".replace("'", '"') if folder else "",
        action=random,
        against=f'"{_opponent(spec)}",' if spec.seats > 1 else "",
        matches=MATCHES if spec.seats > 1 else EPISODES,
    )
    cells: list[dict[str, object]] = []
    # Every second part of the split text is what the group of the pattern matched.
    for index, part in enumerate(_CODE.split(filled)):
        # With one seat there is no opponent, and an empty cell stands for nothing to install.
        if source := part.strip().replace("(MyPlayer,  ", "(MyPlayer, "):
            cells.append(_cell(source, len(cells), is_code=index % 2 == 1))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def notebook_write(path: Path, spec: EnvironmentSpec, environments: str = "") -> None:
    """Write a notebook without a site into a new file. Raises BadName, FileExistsError and other OSError."""
    with path.open("x", encoding="utf-8") as file:
        file.write(notebook(spec, path.stem, environments=environments))


def extras_of(spec: EnvironmentSpec) -> str:
    """Return the parts of arena-kit that the notebook needs, by their names with commas between them."""
    own = spec.gymnasium.extra if spec.gymnasium is not None else ""
    return ",".join(filter(None, ["gymnasium", own]))


def _cell(source: str, number: int, *, is_code: bool) -> dict[str, object]:
    cell: dict[str, object] = {"id": f"cell-{number}", "metadata": {}, "source": source.splitlines(keepends=True)}
    if is_code:
        return {"cell_type": "code", "execution_count": None, "outputs": [], **cell}
    return {"cell_type": "markdown", **cell}


def _opponent(spec: EnvironmentSpec) -> str:
    return "minimax" if "minimax" in names(spec.slug) else "random"
