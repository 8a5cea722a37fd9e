"""The shape of the house: no circles of imports, no room named in a string below it, and short views."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import grimp
import networkx

ROOT = Path(__file__).parents[1]
ROOMS = (
    "web", "builder", "duel_runner", "tournament_manager", "publisher", "executor", "core", "arena_kit", "tests",
    "benchmarks",
)  # fmt: skip
NAME_OF_ROOM = re.compile(r"(web|builder|duel_runner|tournament_manager|publisher)(\.[a-z_]+)+|(web|admin):[a-z_]+")
"""A string that names a module of a room or a page of the site."""
LOWER = {"arena_kit": (), "core": ("core/settings.py",), "builder": (), "duel_runner": (), "tournament_manager": (),
         "publisher": ()}  # fmt: skip
"""Packages below the site, with modules that may name rooms: Django's settings name middleware and handlers."""
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


def named_rooms(source: str, own: str) -> list[str]:
    """The strings of a module that name a room other than its own, docstrings left out."""
    tree = ast.parse(source)
    words = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in words
        and NAME_OF_ROOM.fullmatch(node.value)
        and not node.value.startswith(f"{own}.")
    ]


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


def test_a_string_that_names_a_room_or_a_page_is_found() -> None:
    source = '"""web.urls"""\nTASK = "duel_runner.tasks.work"\nOWN = "builder.tasks"\nreverse("web:home")\n'
    assert named_rooms(source, "builder") == ["duel_runner.tasks.work", "web:home"]


def test_no_room_is_named_in_a_string_below_it() -> None:
    found = {
        str(path.relative_to(ROOT)): named
        for package, exceptions in LOWER.items()
        for path in (ROOT / package).rglob("*.py")
        if "tests" not in path.parts
        and str(path.relative_to(ROOT)) not in exceptions
        and (named := named_rooms(path.read_text(), package))
    }
    assert found == {}


def test_a_view_with_a_line_too_many_is_found() -> None:
    body = "    pass\n" * VIEW_LINES
    source = f"def long(request):\n{body}\ndef fits(request):\n{body[9:]}\ndef other(rows):\n{body}"
    assert long_views(source) == [f"long: {VIEW_LINES + 1} lines"]


def test_no_view_is_longer_than_the_house_allows() -> None:
    modules = {path for name in VIEWS for path in ROOT.joinpath("web").glob(f"*/{name}")}
    found = {str(path.relative_to(ROOT)): path.read_text() for path in modules}
    assert {"web/tournaments/bracket_views.py", "web/tournaments/api.py"} <= found.keys()
    assert {path: long_views(source) for path, source in found.items() if long_views(source)} == {}
