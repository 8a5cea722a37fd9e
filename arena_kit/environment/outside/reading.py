"""Reads a YAML file that may be anything: large, a device, a bomb of aliases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

MOST_BYTES = 256 << 10
MOST_BRACKETS = 1000
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The safe loader of libyaml, where PyYAML was built with it: reading all shipped files takes a tenth of the time."""


class BadFile(Exception):
    """The file cannot be read as YAML; the message continues its name."""


def read_yaml(path: Path) -> Any:
    """Return what a file holds. Raises BadFile, and OSError for a file that cannot be read."""
    if not path.is_file():
        raise BadFile("is not a file")
    if path.stat().st_size > MOST_BYTES:
        raise BadFile(f"is larger than {MOST_BYTES >> 10} KiB")
    try:
        text = path.read_text(encoding="utf-8")
    except ValueError as error:
        raise _not_yaml(error) from None
    return parse_yaml(text)


def parse_yaml(text: str) -> Any:
    """Return what a text holds. Raises BadFile."""
    try:
        # The time to read nested brackets grows with the square of their number.
        if (count := text.count("[") + text.count("{")) > MOST_BRACKETS:
            raise BadFile(f"has {count} opening brackets; {MOST_BRACKETS} are allowed")
        # A few aliases of aliases stand for more values than a memory holds.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, LOADER)):
            raise BadFile("uses an alias (*name), which such files do not need")
        return yaml.load(text, LOADER)  # noqa: S506  # both are safe loaders
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, AttributeError) as error:
        raise _not_yaml(error) from None


def _not_yaml(error: Exception) -> BadFile:
    line = getattr(getattr(error, "problem_mark", None), "line", None)
    where = "" if line is None else f", line {line + 1}"
    return BadFile(f"is not YAML{where}: {' '.join(str(error).split())[:300]}")
