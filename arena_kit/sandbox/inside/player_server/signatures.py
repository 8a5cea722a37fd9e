"""Which arguments a function takes; the module `inspect`, whose import takes long, is loaded when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def parameters(function: Callable[..., Any]) -> list[Any]:
    """Return what a function takes; nothing for those that do not say."""
    import inspect

    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def required(function: Callable[..., Any]) -> list[str] | None:
    """Return the names of the arguments that a function cannot do without; None for one that does not say."""
    import inspect

    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in found if p.default is p.empty and p.kind not in kinds]
