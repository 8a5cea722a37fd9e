"""Reads the name of a container image that an archive gives instead of a program, in its file image.txt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.upload.zip_safety import ArchiveRefused

IMAGE_ENTRY_POINT = "image.txt"
"""An archive with this file and no entry point of a program names a container image, which holds the player."""
MOST_REFERENCE_CHARACTERS = 255
_NAME = re.compile(
    r"(?P<repository>(?=[^/]*[.:]|localhost/)[a-z0-9]+([.-][a-z0-9]+)*(:[0-9]{1,5})?"
    r"(/[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*)+)"
    r"(:(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(@(?P<digest>sha256:[0-9a-f]{64}))?"
)


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image in a registry. repository: HOST[:PORT]/PATH. tag, digest: one of them is not empty."""

    repository: str
    tag: str
    digest: str

    def __str__(self) -> str:
        return f"{self.repository}@{self.digest}" if self.digest else f"{self.repository}:{self.tag}"

    def is_below(self, registries: Sequence[str]) -> bool:
        """Return whether one of the registries, HOST[:PORT] or HOST[:PORT]/PATH, holds this image."""
        return any(self.repository.startswith(f"{name.rstrip('/')}/") or self.repository == name for name in registries)


def is_image_name(text: str) -> bool:
    """Return whether a text is the full name of an image with its digest or its tag."""
    found = _NAME.fullmatch(text) if len(text) <= MOST_REFERENCE_CHARACTERS else None
    return found is not None and bool(found["tag"] or found["digest"])


def read_reference(text: str) -> ImageReference:
    """Return the image that a text of one line names. Raises ArchiveRefused."""
    name = text.strip()
    found = _NAME.fullmatch(name)
    if found is None or not is_image_name(name):
        raise ArchiveRefused(
            f"{IMAGE_ENTRY_POINT} must hold one line, the full name of an image with its digest or its tag, such as "
            "registry.example.org/me/player@sha256:... or registry.example.org/me/player:v1.",
            code="bad_image_name",
        )
    return ImageReference(found["repository"], found["tag"] or "", found["digest"] or "")


def check_allowed(reference: ImageReference, registries: Sequence[str]) -> None:
    """Raise ArchiveRefused for an image that is in none of the registries."""
    if not reference.is_below(registries):
        raise ArchiveRefused(
            f"{reference.repository} is in no registry that this arena takes images from: {', '.join(registries)}.",
            code="image_registry_not_taken",
        )
