"""Finds in the source of a submission what often goes wrong in an arena. It is no wall: it finds only what is in view.

`source_program` calls it in a limited process, with the standard library only.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import Any

from arena_kit.contract import FORMS, OBSERVATION_NAMES

MAX_LINES = 5000
MAX_WARNINGS = 100
ENTRY_POINTS = ("player.py", "agent.py", "main.py")
SCRIPT_ENTRY_POINT = "submission.py"
CODES = frozenset(
    {
        "absolute_path",
        "arena_code",
        "dynamic_code",
        "imports_ctypes",
        "imports_socket",
        "imports_subprocess",
        "input",
        "lfs_pointer",
        "long_file",
        "newer_python",
        "no_player",
        "no_requirements",
        "os_system",
        "player_methods",
        "print_in_loop",
        "shared_memory",
        "thread_at_import",
    }
)
"""The codes of all warnings about source; a site may refuse uploads that have some of them."""
OF_SCRIPTS = frozenset({"gymnasium", "cloudpickle", "farama_notifications", "typing_extensions"})
"""Modules that a script has without requirements, on a site whose operator has named no others."""
OF_PLAYERS = frozenset({"print_in_loop", "thread_at_import", "shared_memory"})
"""Codes of warnings about what costs a player time in its duels; a script and files that no player loads have none."""
PLAYER_METHODS = ("start", "step", "end")
RISKY_MODULES = {
    "subprocess": "starting other programs",
    "socket": "a network",
    "ctypes": "calling the system's libraries",
}
"""Modules whose uses usually fail in a container without a network, and what they are imported for."""
DYNAMIC = ("eval", "exec", "compile", "__import__")
READERS = frozenset(
    {
        "open",
        "Path",
        "PosixPath",
        "load",
        "loadtxt",
        "genfromtxt",
        "fromfile",
        "read_csv",
        "read_json",
        "read_parquet",
        "read_pickle",
        "read_excel",
        "load_model",
        "listdir",
        "scandir",
    }
)
"""Names of functions whose first argument is usually the path of a file to read."""
STARTERS = frozenset({"Thread", "Timer", "ThreadPoolExecutor", "ProcessPoolExecutor", "Process", "Pool", "ThreadPool"})
SHARING = frozenset(
    {
        "Pool",
        "Queue",
        "JoinableQueue",
        "SimpleQueue",
        "Lock",
        "RLock",
        "Semaphore",
        "BoundedSemaphore",
        "Event",
        "Condition",
        "Barrier",
        "Value",
        "Array",
        "Manager",
        "SharedMemory",
        "ShareableList",
        "ProcessPoolExecutor",
    }
)
"""Parts of multiprocessing and concurrent.futures that work only with shared memory."""
ARENA_CODE = frozenset({"environments", "example_players", "arena_kit"})
_ABSOLUTE = re.compile(r"(?:/(?!tmp(?:/|\Z)|dev/)\w|[A-Za-z]:[\\/]|~/)")
Finding = dict[str, Any]
_Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def warnings_of(sources: dict[str, bytes], *, has_requirements: bool, python: tuple[int, int]) -> list[Finding]:
    """Return the warnings about Python files, at most MAX_WARNINGS and one of each code, ordered by file and line.

    sources: content by name, of files that compile. has_requirements: whether the archive names packages. python: the
    version on which players run. Each warning has code, message, file and line.
    """
    found: list[Finding] = []
    own = {name.split("/")[0].removesuffix(".py") for name in sources}
    entry = next((name for name in ENTRY_POINTS if name in sources), "")
    is_script = not entry and SCRIPT_ENTRY_POINT in sources
    files: dict[str, _File] = {}
    for name, source in sorted(sources.items()):
        tree = ast.parse(source, name)
        files[name] = _File(name, tree)
        found += files[name].warnings()
        found += _newer_python(name, source, python)
        if (count := source.count(b"\n") + 1) > MAX_LINES:
            found.append(_finding("long_file", f"{name} has {count} lines. Data is better kept in a file.", name, 1))
        if name == entry:
            found += _entry_warnings(name, tree)
    imported: dict[str, tuple[str, int]] = {}
    loaded = _loaded(SCRIPT_ENTRY_POINT if is_script else entry, files)
    for name in sorted(loaded):
        for module, line in files[name].needed:
            imported.setdefault(module, (name, line))
    known = {*sys.stdlib_module_names, *own, "numpy", *(OF_SCRIPTS if is_script else ())}
    playing: set[str] = set() if is_script else loaded
    found = [item for item in found if item["code"] not in OF_PLAYERS or item["file"] in playing]
    found += [
        _finding(
            "arena_code", f"{module} is the arena's own code, which players do not have: copy what you need.", *place
        )
        for module, place in imported.items()
        if module in ARENA_CODE - own and not is_script
    ]
    known |= ARENA_CODE
    others = [(file, line, module) for module, (file, line) in imported.items() if module not in known]
    if others and not has_requirements:
        file, line, _ = min(others)
        names = ", ".join(sorted(module for _, _, module in others)[:10])
        sentence = f"There is no requirements.txt, but the files import {names}, which a plain base image lacks."
        found.append(_finding("no_requirements", sentence, file, line))
    found.sort(key=_place)
    firsts = {item["code"]: item for item in reversed(found)}
    # A hundred warnings of one kind hide no other kind.
    chosen = sorted(found, key=lambda item: item is not firsts[item["code"]])[:MAX_WARNINGS]
    return sorted(chosen, key=_place)


class _File:
    """One parsed file: which names its imports bind, and what its parts do."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name, self.tree = name, tree
        self.bound: dict[str, str] = {}
        """The object that an import bound to a name: its module, or `module.name`."""
        self.imported: set[str] = set()
        """Top-level modules that the file imports, perhaps only in some cases."""
        self.needed: list[tuple[str, int]] = []
        """Top-level modules that the file cannot do without, and where it imports them."""
        self.defined: set[str] = set()
        """Names that the file itself defines, which hide those of Python."""
        self.found: list[Finding] = []

    def warnings(self) -> list[Finding]:
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.defined.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.defined.add(node.id)
            elif isinstance(node, ast.arg):
                self.defined.add(node.arg)
        # A list and not a recursion: sources may be nested more deeply than Python's stack.
        waiting: list[tuple[ast.AST, bool, bool, bool]] = [(self.tree, False, False, False)]
        ordered: list[tuple[ast.AST, bool, bool, bool]] = []
        while waiting:
            item = waiting.pop()
            ordered.append(item)
            waiting += reversed(list(_children(*item)))
        for node, _, _, is_optional in ordered:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node, is_optional)
        for node, in_loop, in_function, is_optional in ordered:
            if isinstance(node, ast.Call):
                self._call(node, in_loop, is_at_import=not in_function and not is_optional)
        return self.found

    def _import(self, node: ast.Import | ast.ImportFrom, is_optional: bool) -> None:
        if isinstance(node, ast.Import):
            # `import a.b` binds a, and `import a.b as c` binds a.b to c.
            names = [
                (
                    item.name,
                    item.asname or item.name.split(".")[0],
                    item.name if item.asname else item.name.split(".")[0],
                )
                for item in node.names
            ]
        elif node.level or node.module is None:
            return
        else:
            names = [(node.module, alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names]
        for _, bound, full in names:
            self.bound[bound] = full
            if full == "os.system":
                self._add("os_system", "os.system is imported: a container has few programs to start.", node.lineno)
        for module in dict.fromkeys(module.split(".")[0] for module, _, _ in names):
            if module in RISKY_MODULES:
                why = f"{module} is imported: {RISKY_MODULES[module]} usually fails where players run."
                self._add(f"imports_{module}", why, node.lineno)
            self.imported.add(module)
            if not is_optional:
                self.needed.append((module, node.lineno))

    def _call(self, node: ast.Call, in_loop: bool, *, is_at_import: bool) -> None:
        called = node.func
        builtin = called.id if isinstance(called, ast.Name) and self._is_builtin(called.id) else ""
        full = self._full(called)
        if builtin in DYNAMIC or full in {f"builtins.{name}" for name in DYNAMIC}:
            name = builtin or full.removeprefix("builtins.")
            self._add("dynamic_code", f"{name}() runs code that readers of the source cannot see.", node.lineno)
        elif builtin == "input":
            self._add("input", "input() gets no answer: players run without a keyboard.", node.lineno)
        elif builtin == "print" and in_loop:
            self._add("print_in_loop", "print in a loop costs the player's own time, and logs are cut.", node.lineno)
        elif full == "os.system" and isinstance(called, ast.Attribute):
            self._add("os_system", "os.system is called: a container has few programs to start.", node.lineno)
        last = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if last in READERS and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and _ABSOLUTE.match(first.value):
                shown = first.value[:60]
                why = f"{shown!r} is a path of your own computer. Read files beside this one: Path(__file__).parent."
                self._add("absolute_path", why, node.lineno)
        if last in SHARING and self._shares(called, full):
            why = f"{last} needs shared memory, which players do not have: compute in one process, or in threads."
            self._add("shared_memory", why, node.lineno)
        if last in STARTERS and is_at_import and full.split(".")[0] in ("threading", "concurrent", "multiprocessing"):
            why = "A thread or process starts at import: every duel then loads the player anew, which is slower."
            self._add("thread_at_import", why, node.lineno)

    def _shares(self, called: ast.expr, full: str) -> bool:
        parts = full.split(".")
        context = called.value if isinstance(called, ast.Attribute) else None
        if isinstance(context, ast.Call) and self._full(context.func).endswith("multiprocessing.get_context"):
            return True
        return "dummy" not in parts and ("multiprocessing" in parts or parts[-1] == "ProcessPoolExecutor")

    def _is_builtin(self, name: str) -> bool:
        return name not in self.defined and name not in self.bound

    def _full(self, node: ast.expr) -> str:
        """Return the dotted name of an imported function, e.g. os.system, or an empty string."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.bound:
            return ""
        return ".".join([self.bound[node.id], *reversed(parts)])

    def _add(self, code: str, message: str, line: int) -> None:
        if not any(item["code"] == code and item["line"] == line for item in self.found):
            self.found.append(_finding(code, message, self.name, line))


def _loaded(entry: str, files: dict[str, _File]) -> set[str]:
    """Return the files that loading the entry point may load, folders as a whole; all files if there is none.

    Others, such as a program that trains, need nothing in the arena.
    """
    if not entry:
        return set(files)
    modules: dict[str, list[str]] = {}
    for name in files:
        modules.setdefault(name.split("/")[0].removesuffix(".py"), []).append(name)
    loaded, waiting = {entry}, [entry]
    while waiting:
        for module in files[waiting.pop()].imported:
            fresh = modules.pop(module, [])
            waiting += [name for name in fresh if name not in loaded]
            loaded.update(fresh)
    return loaded


def _children(
    node: ast.AST, in_loop: bool, in_function: bool, is_optional: bool
) -> Iterator[tuple[ast.AST, bool, bool, bool]]:
    """Yield the parts of a node, each with whether it runs in a loop, in a function, or only in some cases."""
    is_guard = isinstance(node, ast.If) and _is_guard(node.test)
    for field, value in ast.iter_fields(node):
        loops = in_loop or (isinstance(node, (ast.For, ast.AsyncFor, ast.While)) and field == "body")
        function = in_function or (isinstance(node, _Function) and field == "body")
        # A function that is defined in a loop does not run in it.
        loops = loops and not (isinstance(node, _Function) and field == "body")
        optional = is_optional or (is_guard and field == "body") or (isinstance(node, ast.Try) and field != "finalbody")
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield part, loops, function, optional


def _is_guard(test: ast.expr) -> bool:
    """Return whether a condition is `__name__ == "__main__"` or TYPE_CHECKING."""
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
    return bool(names & {"__name__", "TYPE_CHECKING"})


def _newer_python(name: str, source: bytes, python: tuple[int, int]) -> list[Finding]:
    if sys.version_info[:2] <= python:
        return []
    try:
        ast.parse(source, name, feature_version=python)
    except SyntaxError as error:
        version = ".".join(map(str, python))
        why = f"This needs a newer Python than the {version} of the base image: {error.msg}."
        return [_finding("newer_python", why, name, error.lineno or 1)]
    return []


def _entry_warnings(name: str, tree: ast.Module) -> list[Finding]:
    """Return what is missing from the file that the arena loads."""
    bound: set[str] = set()
    player = None
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
            player = node if isinstance(node, ast.ClassDef) and node.name == "Player" else player
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {alias.asname or alias.name for alias in node.names}
        else:
            # Also what an `if`, a `try` or an assignment binds.
            bound |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            bound |= {part.name for part in ast.walk(node) if isinstance(part, (ast.FunctionDef, ast.ClassDef))}
            bound |= {part.asname or part.name for part in ast.walk(node) if isinstance(part, ast.alias)}
    functions = [
        part for part in ast.walk(tree) if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    ]
    sees = any(
        part.arg in OBSERVATION_NAMES for one in functions for part in [*one.args.posonlyargs, *one.args.args][:1]
    )
    if "*" not in bound and not bound & {*FORMS} and not sees:
        why = "It defines no player: a class Player, or one of the other forms that the documentation lists."
        return [_finding("no_player", why, name, 1)]
    if player is None or any(not isinstance(base, ast.Name) or base.id != "object" for base in player.bases):
        return []
    defined = {part.name for part in player.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))}
    defined |= {part.id for part in ast.walk(player) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    missing = [method for method in PLAYER_METHODS if method not in defined]
    # Without them it is a helper of another form.
    if not missing or player.decorator_list or player.keywords or bound & {*FORMS[1:]} or sees:
        return []
    why = f"The class Player has no method {' and no '.join(missing)}, which every match calls."
    return [_finding("player_methods", why, name, player.lineno)]


def _place(finding: Finding) -> tuple[str, int]:
    return finding["file"], finding["line"]


def _finding(code: str, message: str, file: str, line: int) -> Finding:
    return {"code": code, "message": message, "file": file, "line": line}
