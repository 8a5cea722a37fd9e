"""What is said about the source of a submission, and what is left alone."""

from __future__ import annotations

import pytest

from arena_kit.upload.source_warnings import MAX_WARNINGS, warnings_of

PLAYER = """
class Player:
    def __init__(self, train_mode): ...
    def start(self, state, valid_actions): ...
    def step(self, state, valid_actions, prev_reward): ...
    def end(self, state, prev_reward): ...
"""
PYTHON = (3, 11)


def found(source: str, *, has_requirements: bool = True, name: str = "player.py") -> list[tuple[str, int]]:
    """Return the codes and lines of the warnings about a file beside a good player."""
    # The player loads the other file.
    player = PLAYER + ("" if name == "player.py" else f"import {name.removesuffix('.py')}\n")
    sources = {"player.py": player.encode()} | {name: source.encode()}
    return [
        (item["code"], item["line"]) for item in warnings_of(sources, has_requirements=has_requirements, python=PYTHON)
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import subprocess", [("imports_subprocess", 1)]),
        ("def f():\n    from subprocess import run", [("imports_subprocess", 2)]),
        ("import socket as s, ctypes.util", [("imports_socket", 1), ("imports_ctypes", 1)]),
        ("import os\nos.system('ls')", [("os_system", 2)]),
        ("import os as o\no.system('ls')", [("os_system", 2)]),
        ("from os import system\nsystem('ls')", [("os_system", 1)]),
        (
            "eval('1')\nexec('2')\ncompile('3', '', 'eval')\n__import__('os')",
            [("dynamic_code", n) for n in range(1, 5)],
        ),
        ("import builtins\nbuiltins.exec('')", [("dynamic_code", 2)]),
        ("def f():\n    return input()", [("input", 2)]),
        ("for i in range(9):\n    print(i)", [("print_in_loop", 2)]),
        ("def f():\n    while True:\n        if x:\n            print()", [("print_in_loop", 4)]),
        ("open('/home/me/weights.json')", [("absolute_path", 1)]),
        ("from pathlib import Path\nPath('C:\\\\me\\\\w.json')", [("absolute_path", 2)]),
        ("import numpy as np\nnp.load('/data/w.npy')", [("absolute_path", 2)]),
        ("import threading\nthreading.Thread(target=print).start()", [("thread_at_import", 2)]),
        ("from concurrent.futures import ThreadPoolExecutor as E\nE = None", []),
        ("from multiprocessing import Pool\nPOOL = Pool(2)", [("shared_memory", 2), ("thread_at_import", 2)]),
        ("class A:\n    import threading\n    t = threading.Timer(1, print)", [("thread_at_import", 3)]),
        ("x = 1\n" * 5001, [("long_file", 1)]),
    ],
)
def test_what_often_goes_wrong_is_named_with_its_line(source: str, expected: list[tuple[str, int]]) -> None:
    assert found(source, name="lib.py") == expected


@pytest.mark.parametrize(
    "source",
    [
        "model = None\nmodel.eval()",
        "import evaluate, py_compile, compileall, execnet",
        "import re\nre.compile('x')",
        "class Agent:\n    def eval(self): ...\n    def exec(self): self.eval()",
        "def compile(x): ...\ncompile(1)",
        "from evaluate import eval\neval(1)",
        "def f(input):\n    return input()",
        "self = None\nself.system('x')\nos = None\nos.system('x')",
        "class Env:\n    def print(self): ...\nfor e in []:\n    e.print()",
        "for i in range(3):\n    def f():\n        print(i)",
        "print('loaded')",
        "open('weights.json')\nopen('/tmp/scratch')\nopen('/dev/urandom')",
        "'/home/me'.split('/')\nprint('/usr/bin')",
        "import threading\ndef f():\n    threading.Thread(target=f).start()",
        "import threading\nif __name__ == '__main__':\n    threading.Thread(target=print).start()",
        "import threading\nLOCK = threading.Lock()",
        "from os import path\npath.join('/', 'x')",
        "import subprocess_tee, socketio, ctypeslib",
    ],
)
def test_what_only_looks_like_it_is_left_alone(source: str) -> None:
    assert found(source, name="lib.py") == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class Player:\n    def step(self): ...", [("player_methods", 1)]),
        ("class Player(object):\n    def start(self): ...\n    def end(self): ...", [("player_methods", 1)]),
        ("class Player(Base):\n    pass", []),
        ("class Player:\n    start = step = end = lambda *_: 0", []),
        ("from mine import Player", []),
        ("from mine import *", []),
        ("Agent = object", []),
        ("try:\n    from mine import Agent\nexcept ImportError:\n    Agent = None", []),
        ("def agent(observation, configuration): ...", []),
        ("x = 1", [("no_player", 1)]),
    ],
)
def test_the_entry_point_defines_a_player(source: str, expected: list[tuple[str, int]]) -> None:
    assert found(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch, sklearn.svm", [("no_requirements", 1)]),
        ("def f():\n    import torch", [("no_requirements", 2)]),
        ("import numpy, json, helper, player\nfrom . import helper\nfrom .torch import x", []),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None", []),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch", []),
    ],
)
def test_packages_without_requirements_are_named(source: str, expected: list[tuple[str, int]]) -> None:
    sources = {"player.py": f"import helper{PLAYER}".encode(), "helper.py": b"import lib", "lib.py": source.encode()}
    items = warnings_of(sources, has_requirements=False, python=PYTHON)
    assert [(item["code"], item["line"]) for item in items] == expected
    assert warnings_of(sources, has_requirements=True, python=PYTHON) == []


def test_what_only_a_program_for_training_does_costs_no_player_anything() -> None:
    sources = {
        "player.py": PLAYER.encode(),
        "train.py": b"import torch\nfor i in 1, 2:\n    print(i)",
        "tools/plot.py": b"import plots",
    }
    assert warnings_of(sources, has_requirements=False, python=PYTHON) == []
    sources["player.py"] = b"try:\n    import tools.plot\nexcept ImportError: ...\n" + PLAYER.encode()
    (item,) = warnings_of(sources, has_requirements=False, python=PYTHON)
    assert (item["code"], item["file"], "plots" in item["message"]) == ("no_requirements", "tools/plot.py", True)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import gymnasium, numpy\nfor i in range(9):\n    print(i)", []),
        ("import threading\nthreading.Thread(target=print).start()", []),
        ("import gymnasium, torch\nprint(eval('1'))", [("no_requirements", 1), ("dynamic_code", 2)]),
    ],
)
def test_a_script_has_gymnasium_and_no_duels(source: str, expected: list[tuple[str, int]]) -> None:
    items = warnings_of({"submission.py": source.encode()}, has_requirements=False, python=PYTHON)
    assert [(item["code"], item["line"]) for item in items] == expected
    assert not any("gymnasium" in item["message"] for item in items)


def test_a_newer_python_than_that_of_the_base_image_is_named() -> None:
    source = {"player.py": PLAYER.encode(), "lib.py": b"match 1:\n    case 1: pass\n"}
    item, *others = warnings_of(source, has_requirements=True, python=(3, 9))
    assert (item["code"], item["file"], others) == ("newer_python", "lib.py", [])
    assert "newer Python than the 3.9" in item["message"]


def test_a_file_full_of_findings_is_cut_and_named_once_a_line() -> None:
    assert len(found("eval('1')\n" * 1000, name="lib.py")) == MAX_WARNINGS
    assert found("eval('1'); eval('2')", name="lib.py") == [("dynamic_code", 1)]
