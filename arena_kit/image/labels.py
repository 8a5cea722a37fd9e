"""Labels by which an arena knows what it made on an engine; arenas that share one must have prefixes of their own."""

from __future__ import annotations

import re

PREFIX_LABEL = "arena.prefix"
"""Prefix of the arena that made an image."""
SUBMISSION_LABEL, BUILD_LABEL = "arena.submission", "arena.build"
REQUIREMENTS_LABEL = "arena.requirements"
"""Name of a requirements image; images made on top inherit it."""
WARNINGS_LABEL, WHEELS_LABEL = "arena.warnings", "arena.wheels"
"""Of a requirements image, as JSON: sentences for owners; file names of the installed wheels with their SHA-256."""
CONTAINER_LABEL = "arena.builder"
"""Of a container that the builder works in: prefix of its arena. Empty on images, whose containers would inherit it."""


def container_name(prefix: str, purpose: str) -> str:
    """A name for a container; prefixes may be names of a registry, with letters that containers must not have."""
    return f"{re.sub('[^A-Za-z0-9_.-]', '-', prefix)}-{purpose}"
