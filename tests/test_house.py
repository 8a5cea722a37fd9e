"""The shape of the house: no module imports itself by way of others, and views are short."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import grimp
import networkx

ROOT = Path(__file__).parents[1]
ROOMS = (
    "web", "builder", "duel_runner", "tournament_manager", "publisher", "executor", "core", "arena_kit", "tests",
    "benchmarks",
)  # fmt: skip
VIEWS = ("views.py", "*_views.py", "api.py", "*_api.py")
"""Names of the modules of views."""
VIEW_LINES = 25
"""The most lines of a view, from `def` to its last statement, with its docstring and without its decorators."""


def circles() -> list[list[str]]:
    """Groups of modules that import each other in a circle, late imports included (those for types never run)."""
    graph = grimp.build_graph(*ROOMS, exclude_type_checking_imports=True, cache_dir=None)
    arrows = networkx.DiGraph()
    for module in graph.modules:
        arrows.add_edges_from((module, other) for other in graph.find_modules_directly_imported_by(module))
    return [sorted(group) for group in networkx.strongly_connected_components(arrows) if len(group) > 1]


def views(source: str) -> Iterator[tuple[str, int]]:
    """Yield the name and number of lines of every function of a module that takes `request`, methods included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            if any(argument.arg == "request" for argument in given):
                yield node.name, (node.end_lineno or 0) - node.lineno + 1


def long_views(source: str) -> list[str]:
    return [f"{name}: {lines} lines" for name, lines in views(source) if lines > VIEW_LINES]


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circles() == []


def test_a_view_with_a_line_too_many_is_found() -> None:
    body = "    pass\n" * VIEW_LINES
    source = f"def long(request):\n{body}\ndef fits(request):\n{body[9:]}\ndef other(rows):\n{body}"
    assert long_views(source) == [f"long: {VIEW_LINES + 1} lines"]


def test_no_view_is_longer_than_the_house_allows() -> None:
    modules = {path for name in VIEWS for path in ROOT.joinpath("web").glob(f"*/{name}")}
    found = {str(path.relative_to(ROOT)): path.read_text() for path in modules}
    assert {"web/tournaments/bracket_views.py", "web/tournaments/api.py"} <= found.keys()
    assert {path: long_views(source) for path, source in found.items() if long_views(source)} == {}
