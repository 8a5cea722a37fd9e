"""The English of docstrings and of constants' comments: patterns that hide their subject are refused."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "arena_kit", "benchmarks", "builder", "core", "duel_runner", "environments", "example_players", "executor",
    "publisher", "rollout_runner", "tournament_manager", "web",
)  # fmt: skip
DOCSTRING = re.compile(r"(As|Of|Those|What|Whether)\b|.*\bRaises\.\s*$", re.DOTALL)
"""A docstring names its subject first: "Return whether ...", "The limits of ...", and the errors that it raises."""
COMMENT = re.compile(r"(Of|As|Those|What)\b")
"""A constant's comment is a full sentence, or a noun, about the constant."""
BESIDE = re.compile(r"\n *# (Of|Those|Whether) .*")
"""A comment beside code names its subject too."""
SPEAKING = re.compile(
    r"\b(?:arena|browser|cluster|container|database|driver|engine|environment|gateway|host|job|kernel|message|page|pod|"
    r"process|reaper|referee|registry|row|server|site|supervisor|watchdog|worker|world)s?"
    r" (?:has |have )?(?:tells?|told|says?|said|hears?|heard|asks?|knows?)\b"
)
"""A machine with a verb of people: machines return, store, read, show, send and request."""
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


def refused(source: str) -> Iterator[str]:
    """Yield the first line of every docstring and comment with such a pattern."""
    yield from (found[0].strip() for found in BESIDE.finditer(source))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Documented) and DOCSTRING.match(ast.get_docstring(node) or ""):
            yield (ast.get_docstring(node) or "").partition("\n")[0]
        body = getattr(node, "body", None)
        for one, after in pairwise(body) if isinstance(body, list) else ():
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if isinstance(one, ast.Assign | ast.AnnAssign) and is_text and COMMENT.match(str(after.value.value)):
                yield str(after.value.value).partition("\n")[0]


def prose(source: str) -> Iterator[str]:
    """Yield every docstring, comment of a constant and comment of a module as one line; comments on one another's heels
    are one text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield " ".join(node.value.value.split())
    for lines in re.findall(r"(?:^\s*#.*\n)+|  # .*\n", source, re.MULTILINE):
        yield " ".join(lines.replace("#", " ").split())


def test_patterns_that_hide_the_subject_are_found() -> None:
    source = '"""What it is."""\nMOST = 3\n"""Of a page."""\n\ndef f():\n    """Do it. Raises."""\n'
    assert sorted(refused(source)) == ["Do it. Raises.", "Of a page.", "What it is."]
    assert list(refused('"""The use."""\nMOST = 3\n"""The most rows of a page."""\n')) == []


def test_docstrings_and_comments_name_their_subject() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {line}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if not {"tests", "migrations", "generated"} & set(path.parts)
        for line in refused(path.read_text())
    }
    assert found == set()


def test_a_machine_that_speaks_is_found() -> None:
    source = '"""Does what the\nworker says."""\nTEXT = "the page says"\n# So the row\n# knows it.\n# People say so.\n'
    assert [found[0] for text in prose(source) if (found := SPEAKING.search(text))] == ["worker says", "row knows"]


def test_machines_do_not_tell_say_hear_ask_or_know() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {spoken[0]}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if not {"tests", "migrations", "generated", "node_modules"} & set(path.parts)
        for text in prose(path.read_text())
        if (spoken := SPEAKING.search(text))
    }
    assert found == set()
