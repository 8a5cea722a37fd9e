"""Why a build did not end in an image."""

from __future__ import annotations


class BuildFailed(Exception):
    """The submission cannot be built: its owner has to change it. code: typed reason."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class BuilderUnavailable(Exception):
    """The platform cannot build now: engine down, disk full, base image missing. code: typed reason."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code
