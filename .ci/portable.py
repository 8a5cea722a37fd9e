"""Check the types of what participants use for Windows, macOS and the oldest Python: python .ci/portable.py [--list]

The modules are those that the import contract of that name in pyproject.toml holds: all that the commands of `arena`
import, late imports too, up to the doors that the contract leaves open to what needs Linux.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = "What participants use runs on every system"
SYSTEMS = ("win32", "darwin")
OLDEST = "3.10"
"""The oldest Python that they run on."""


def contract() -> dict[str, list[str]]:
    """Return the contract. Raises StopIteration if pyproject.toml has none of that name."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return next(one for one in settings["tool"]["importlinter"]["contracts"] if one["name"] == CONTRACT)


def modules() -> set[str]:
    """Return the names of the modules that participants use."""
    sys.path.insert(0, str(ROOT))
    graph = grimp.build_graph("arena_kit", exclude_type_checking_imports=True, cache_dir=None)
    kept = contract()
    roots = {module for name in kept["source_modules"] for module in (name, *graph.find_descendants(name))}
    for arrow in kept["ignore_imports"]:
        importer, _, imported = arrow.partition(" -> ")
        if imported == "**":
            roots.discard(importer)
        elif "*" not in arrow:
            graph.remove_import(importer=importer, imported=imported)
    return roots.union(*map(graph.find_upstream_modules, roots))


def paths() -> Iterator[str]:
    """Yield the files of these modules, and the environments, which are found by their paths."""
    for name in sorted(modules()):
        path = ROOT.joinpath(*name.split("."))
        yield str((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).relative_to(ROOT))
    for path in sorted((ROOT / "environments").rglob("*.py")):
        if not {"tests", "applications"} & set(path.parts):
            yield str(path.relative_to(ROOT))


def main() -> int:
    if "--list" in sys.argv:
        print("\n".join(paths()))
        return 0
    cache = Path(os.environ.get("MYPY_CACHE_DIR", ROOT / ".mypy_cache"))
    files = list(paths())
    wrong = False
    for system in SYSTEMS:
        command = [sys.executable, "-m", "mypy", "--platform", system, "--python-version", OLDEST,
                   "--follow-imports", "silent", *files]  # fmt: skip
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, "MYPY_CACHE_DIR": str(cache / system)}, check=False)
        wrong = wrong or done.returncode != 0
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
