"""Static files whose addresses hold their hash, with DEBUG too."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage


class CollectedFiles(CompressedManifestStaticFilesStorage):
    """Names the collected files. Django's own storage names the sources while DEBUG is on."""

    def url(self, name: str | None, force: bool = False) -> str:
        return str(super().url(name, force=True))
