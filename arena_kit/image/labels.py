"""The labels and names by which an arena finds its images and containers.

Arenas that share an engine need different prefixes, and those that share a registry different paths in it.
"""

from __future__ import annotations

import re

PREFIX_LABEL = "arena.prefix"
"""Holds the prefix of the arena that made an image."""
SUBMISSION_LABEL, BUILD_LABEL = "arena.submission", "arena.build"
REQUIREMENTS_LABEL = "arena.requirements"
"""Holds the name of a requirements image; images on top of it inherit the label."""
WARNINGS_LABEL, WHEELS_LABEL = "arena.warnings", "arena.wheels"
"""Hold JSON on a requirements image: sentences for owners, and the SHA-256 of each installed wheel by file name."""
CONTAINER_LABEL = "arena.builder"
"""Holds the prefix of the arena on a container that the builder works in. Images have it empty, because their
containers would inherit it."""
REPOSITORY = re.compile(
    r"(?=[^/]*[.:]|localhost/)[a-z0-9]+([.-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*)+"
)
"""HOST[:PORT]/PATH. Without a dot, a port or the name localhost, engines take a host for a path on Docker Hub."""


def container_name(prefix: str, purpose: str) -> str:
    """Return a container's name; the characters of a registry's name that it must not have become hyphens."""
    return f"{re.sub('[^A-Za-z0-9_.-]', '-', prefix)}-{purpose}"
