"""`write_agent`: cells of a notebook become folders that the arena takes."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import arena_kit
from arena_kit.environment.registry import get_spec
from arena_kit.notebook.source import CannotWrite
from arena_kit.opponents import opponent_maker

Run = Callable[[str], dict[str, Any]]
PLAYER = """
class {name}:
    def start(self, state, valid_actions):
        return {value}
    def step(self, state, valid_actions, prev_reward):
        return {value}
    def end(self, state, prev_reward):
        pass
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Run]:
    """Run cells as a kernel does: in one namespace, each with a file name that only the cache of lines knows."""
    module = ModuleType("a_notebook")
    monkeypatch.setitem(sys.modules, "a_notebook", module)
    monkeypatch.chdir(tmp_path)
    names: list[str] = []

    def run_cell(source: str) -> dict[str, Any]:
        names.append(f"<cell-{len(names)}>")
        linecache.cache[names[-1]] = (len(source), None, source.splitlines(keepends=True), names[-1])
        exec(compile(source, names[-1], "exec"), vars(module))
        return vars(module)

    yield run_cell
    for name in names:
        linecache.cache.pop(name, None)


def plays(folder: Path, valid: list[int]) -> Any:
    return opponent_maker(get_spec("tic-tac-toe"), folder)(0).start(np.zeros(9), np.array(valid))


def test_a_class_is_written_with_all_that_it_uses(run: Run, tmp_path: Path) -> None:
    run("import numpy as np\nimport random as dice\nfrom math import floor as down\nfrom collections import Counter")
    run("WEIGHTS = np.arange(9.0)\nTABLE = {(i, 'x'): i / 7 for i in range(500)}\nBONUS = [1, {'a': (2, None)}]")
    run("class Base:\n    bonus = BONUS\n    def start(self, state, valid_actions): return helper(valid_actions)")
    run("def helper(valid):\n    Counter(), dice.random()\n    return valid[down(WEIGHTS[0] + TABLE[0, 'x'])]")
    found = run(
        "class Mine(Base):\n    def step(self, state, valid_actions, prev_reward): return helper(valid_actions)"
    )
    folder = arena_kit.write_agent(found["Mine"], tmp_path / "mine")
    assert {path.name for path in folder.iterdir()} == {"player.py", "WEIGHTS.npy", "TABLE.txt"}
    assert "BONUS = [1, {'a': (2, None)}]" in (folder / "player.py").read_text()
    assert plays(folder, [4, 5]) == 4
    assert arena_kit.check(folder, "tic-tac-toe", files_only=True).passes


def test_the_newest_cell_wins_and_a_folder_of_ours_is_replaced(run: Run, tmp_path: Path) -> None:
    for value in ("valid_actions[0]", "valid_actions[-1]"):
        found = run(PLAYER.format(name="Mine", value=value))
        folder = arena_kit.write_agent(found["Mine"], tmp_path / "mine")
    assert plays(folder, [4, 5]) == 5
    (folder / "player.py").write_text("print('mine')")
    with pytest.raises(CannotWrite, match=r"holds a player\.py of your own"):
        arena_kit.write_agent(found["Mine"], folder)


def test_a_function_and_every_form_of_agent_are_written(run: Run, tmp_path: Path) -> None:
    found = run("def choose(state, valid_actions):\n    return valid_actions[0]")
    assert plays(arena_kit.write_agent(found["choose"], tmp_path / "a"), [7, 8]) == 7
    found = run("class Thinker:\n    def act(self, state, valid_actions):\n        return valid_actions[-1]")
    assert plays(arena_kit.write_agent(found["Thinker"], tmp_path / "b"), [7, 8]) == 8
    found = run("def predict(state, valid_actions):\n    return valid_actions[-1]")
    assert plays(arena_kit.write_agent(found["predict"], tmp_path / "c"), [7, 8]) == 8


def test_names_that_python_has_too_are_the_cells(run: Run, tmp_path: Path) -> None:
    found = run("def max(valid): return valid[0]\ndef choose(state, valid_actions): return max(valid_actions)")
    assert plays(arena_kit.write_agent(found["choose"], tmp_path / "a"), [4, 5]) == 4


def test_functions_with_a_memory_go_along(run: Run, tmp_path: Path) -> None:
    run("import functools\ndef kept(function):\n    return functools.wraps(function)(lambda *given: function(*given))")
    run("@functools.cache\ndef depth(n): return n")
    found = run("@kept\ndef choose(state, valid_actions): return valid_actions[depth(1)]")
    assert plays(arena_kit.write_agent(found["choose"], tmp_path / "a"), [4, 5]) == 5


def test_modules_within_packages_are_imported(run: Run, tmp_path: Path) -> None:
    run("import xml.etree.ElementTree, os")
    found = run(
        "def choose(state, valid): return valid[len(xml.etree.ElementTree.fromstring('<a/>').tag + os.path.sep)]"
    )
    source = (arena_kit.write_agent(found["choose"], tmp_path / "a") / "player.py").read_text()
    assert "import xml.etree.ElementTree\n" in source
    assert "import os\n" in source
    assert "os.path\n" not in source


def test_classes_without_methods_are_found_among_the_cells_of_ipython(run: Run, tmp_path: Path) -> None:
    cells = ["class Way(Enum):\n    ON = 0", "class Way(Enum):\n    ON = 1"]
    found = run("from enum import Enum")
    for cell in cells:
        run(cell)
    run("def choose(state, valid_actions): return valid_actions[Way.ON.value]")
    with pytest.raises(CannotWrite, match="The source of Way is not found"):
        arena_kit.write_agent(found["choose"], tmp_path / "a")
    found["In"] = ["", *cells]
    assert plays(arena_kit.write_agent(found["choose"], tmp_path / "a"), [4, 5]) == 5


def test_files_go_along_and_own_modules_are_asked_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wisdom.py").write_text("def best(valid): return valid[0]")
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "w.bin").write_bytes(b"12")
    found = run("def choose(state, valid_actions):\n    import wisdom\n    return wisdom.best(valid_actions)")
    with pytest.raises(CannotWrite, match=r'imports wisdom, which is a file of your own: files=\["wisdom.py"\]'):
        arena_kit.write_agent(found["choose"], tmp_path / "a")
    folder = arena_kit.write_agent(
        found["choose"], tmp_path / "a", {"wisdom.py": "wisdom.py", "net": "net", "more/x.txt": b"x"}
    )
    assert (folder / "net" / "w.bin").read_bytes() == b"12"
    assert (folder / "more" / "x.txt").read_bytes() == b"x"
    assert not (folder / "requirements.txt").exists()


def test_packages_become_requirements(run: Run, tmp_path: Path) -> None:
    found = run("import yaml\ndef choose(state, valid_actions):\n    return yaml and valid_actions[0]")
    folder = arena_kit.write_agent(found["choose"], tmp_path / "a")
    assert (folder / "requirements.txt").read_text() == "PyYAML\n"
    folder = arena_kit.write_agent(found["choose"], tmp_path / "a", requirements=["pyyaml>=6"])
    assert (folder / "requirements.txt").read_text() == "pyyaml>=6\n"


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("def it(s, v): return missing[0]", "it uses missing, which is not defined here"),
        ("from collections import defaultdict\nQ = defaultdict(float)\ndef it(s, v): return Q[v[0]]",
         r"it uses Q, a defaultdict that this notebook holds\. Make it in it, or save it into a file"),
        ("def it(s, v): return 0\ndef made():\n    def it(s, v): return 1\n    return it\nit = made()",
         "The source of it is not found. Define it with class or def at the beginning of a line"),
        ("it = lambda s, v: v[0]", "The source of <lambda> is not found"),
        ("class Made:\n    def start(self): ...\nit = Made()", "Give the class or the function, not a Made"),
        ("it = len", "Give the class or the function, not a builtin"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_named(cell: str, sentence: str, run: Run, tmp_path: Path) -> None:
    found = run(cell)
    with pytest.raises(CannotWrite, match=sentence):
        arena_kit.write_agent(found["it"], tmp_path / "a")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"../x": b""}, r"\.\./x' is not a path"),
        ({"/x": b""}, "/x' is not a path"),
        ({"": "."}, "'' is not a path"),
        (["gone"], "There is no file gone"),
        ("gone", "There is no file gone"),
    ],
)
def test_wrong_files_are_refused(files: Any, sentence: str, run: Run, tmp_path: Path) -> None:
    found = run("def it(state, valid_actions): return valid_actions[0]")
    with pytest.raises(CannotWrite, match=sentence):
        arena_kit.write_agent(found["it"], tmp_path / "a", files)
