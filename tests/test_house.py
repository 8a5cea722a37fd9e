"""The house stands: no module imports itself by way of others."""

from __future__ import annotations

import grimp
import networkx

ROOMS = (
    "web", "builder", "duel_runner", "tournament_manager", "publisher", "core", "arena_kit", "tests", "benchmarks",
)  # fmt: skip


def circles() -> list[list[str]]:
    """Groups of modules that import each other in a circle, late imports included (those for types never run)."""
    graph = grimp.build_graph(*ROOMS, exclude_type_checking_imports=True, cache_dir=None)
    arrows = networkx.DiGraph()
    for module in graph.modules:
        arrows.add_edges_from((module, other) for other in graph.find_modules_directly_imported_by(module))
    return [sorted(group) for group in networkx.strongly_connected_components(arrows) if len(group) > 1]


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circles() == []
