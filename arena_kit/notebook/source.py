"""Finds the source of a class or a function from a cell, and of everything in the notebook that it uses."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import symtable
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import Any

MOST_LITERAL = 2000
"""A value whose text is longer than this becomes a file of its own."""
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


class CannotWrite(ValueError):
    """The source of an agent cannot be written; the message names what to change."""


@dataclass
class Collected:
    """The parts of a player.py, in the order in which they must stand, and the data that it reads from files."""

    imports: dict[str, None] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)
    literals: dict[str, str] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)
    """The first words of the names of modules that are imported."""
    _seen: set[str] = field(default_factory=set)

    def add(self, thing: Any) -> None:
        """Add a class or a function, after what it uses. Raises CannotWrite."""
        name = thing.__name__
        source = source_of(thing)
        self._seen.add(name)
        self.modules |= set(_imported(source))
        namespace = _namespace(thing)
        for used in free_names(source):
            # A cell may define a name that Python has, too, such as `max`.
            if used not in self._seen and (used in namespace or not hasattr(builtins, used)):
                self._seen.add(used)
                self._use(used, namespace, name)
                for module in _submodules(used, namespace.get(used), source):
                    self._import(module, f"import {module}")
        self.parts.append(source)

    def _use(self, name: str, namespace: Mapping[str, Any], user: str) -> None:
        if name not in namespace:
            raise CannotWrite(f"{user} uses {name}, which is not defined here. Run the cell that defines it first.")
        value = namespace[name]
        if isinstance(value, ModuleType):
            whole = value.__name__
            self._import(whole, f"import {whole}" + ("" if whole == name else f" as {name}"))
        elif (isinstance(value, type) or inspect.isroutine(value)) and value.__module__ != namespace.get("__name__"):
            module, found = value.__module__, value.__name__
            if getattr(sys.modules.get(module), found, None) is not value:
                raise CannotWrite(f"{user} uses {name}, which cannot be imported from {module}.")
            self._import(module, f"from {module} import {found}" + ("" if found == name else f" as {name}"))
        elif isinstance(value, type) or (inspect.isroutine(value) and isinstance(inspect.unwrap(value), FunctionType)):
            self.add(value)
            if value.__name__ != name:
                self.parts.append(f"{name} = {value.__name__}")
        elif type(value).__module__ == "numpy" and hasattr(value, "tobytes") and not value.dtype.hasobject:
            self.arrays[name] = value
        elif is_plain(value):
            text = repr(value)
            if len(text) > MOST_LITERAL:
                self.literals[name] = text
            else:
                self.parts.append(f"{name} = {text}")
        else:
            raise CannotWrite(
                f"{user} uses {name}, a {type(value).__name__} that this notebook holds. Make it in {user}, or save "
                f"it into a file that {user} reads with Path(__file__).parent, and name the file in files=."
            )

    def _import(self, module: str, line: str) -> None:
        first = module.partition(".")[0]
        self.imports[line] = None
        self.modules.add(first)


def source_of(thing: Any) -> str:
    """Return the source of a class or a function, also of one that a cell defines. Raises CannotWrite.

    Python finds no class of a cell by itself, because a notebook is no file; the cell is found by the code of a method,
    or among the cells that IPython keeps. A definition within another one may have a namesake outside, and is refused.
    """
    for cell in () if "<locals>" in thing.__qualname__ else _cells(thing):
        try:
            statements = ast.parse(cell).body
        except SyntaxError:
            continue
        # The last definition of a cell wins.
        for node in reversed(statements):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == thing.__name__:
                begins = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                return "".join(cell.splitlines(keepends=True)[begins - 1 : node.end_lineno]).rstrip()
    raise CannotWrite(
        f"The source of {thing.__name__} is not found. Define it with class or def at the beginning of a line of a "
        "cell, or write the file yourself with %%writefile."
    )


def free_names(source: str) -> list[str]:
    """Return the names that a definition takes from around it, in the order of the alphabet."""
    found: set[str] = set()
    root = symtable.symtable(source, "cell", "exec")
    tables = [root]
    while tables:
        scope = tables.pop()
        tables += scope.get_children()
        for symbol in scope.get_symbols():
            if symbol.is_referenced() and (symbol.is_global() or (scope is root and not symbol.is_assigned())):
                found.add(symbol.get_name())
    defined = {symbol.get_name() for symbol in root.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    return sorted(found - defined - {"__file__", "__name__"})


def is_plain(value: object) -> bool:
    """Return whether the text of a value, as Python prints it, gives the value again."""
    if isinstance(value, dict) and type(value) is dict:
        return all(is_plain(key) and is_plain(item) for key, item in value.items())
    if type(value) in {list, tuple, set}:
        return bool(value or type(value) is not set) and all(map(is_plain, value))  # type: ignore[call-overload]
    if type(value) is float:
        return value - value == 0
    return type(value) in PLAIN


def _submodules(name: str, value: object, source: str) -> Iterator[str]:
    """Yield the modules that a source reaches over a package's own name, as in `xml.etree.ElementTree.parse`.

    `import xml` alone does not load them.
    """
    if not isinstance(value, ModuleType) or value.__name__ != name:
        return
    for node in ast.walk(ast.parse(source)):
        path = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if path.startswith(f"{name}.") and getattr(sys.modules.get(path), "__name__", "") == path:
            yield path


def _cells(thing: Any) -> Iterator[str]:
    """Yield the sources in which a class or a function may stand, the likeliest first."""
    whole = inspect.unwrap(thing)
    for code in [whole.__code__] if isinstance(whole, FunctionType) else _codes(thing):
        yield "".join(linecache.getlines(code.co_filename))
    if isinstance(thing, type) and isinstance(kept := _namespace(thing).get("In"), list):
        yield from (cell for cell in reversed(kept) if isinstance(cell, str))


def _codes(thing: type) -> Iterator[CodeType]:
    for value in vars(thing).values():
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(function, FunctionType):
            yield inspect.unwrap(function).__code__


def _namespace(thing: Any) -> Mapping[str, Any]:
    module = sys.modules.get(thing.__module__)
    return getattr(thing, "__globals__", None) or (vars(module) if module else {})


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
