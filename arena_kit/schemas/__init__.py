"""JSON Schemas of the files that organisers write: of environments, of applications and of tasks."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@cache
def schemas() -> dict[str, str]:
    """Return the text of each schema (draft 2020-12), by the name of its file without `.json`."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.json"))}
