"""The version of this arena-kit. That of a site's wheel names its content, and so the rules that one plays by."""

from __future__ import annotations

from functools import cache

SOURCE = "source"
"""The version of an arena-kit that runs from a folder and was not installed."""


@cache
def kit_version() -> str:
    """Return the version of the installed arena-kit, such as `0.1.0+k1f0c93ab27d4`, or SOURCE."""
    # Late: it takes a third of the time of `arena --help`.
    import importlib.metadata

    try:
        return importlib.metadata.version("arena-kit")
    except importlib.metadata.PackageNotFoundError:
        return SOURCE
