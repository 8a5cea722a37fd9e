"""The errors of builds."""

from __future__ import annotations


class BuildFailed(Exception):
    """The submission cannot be built and its owner must change it. code: typed reason."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class BuilderUnavailable(Exception):
    """The platform cannot build now, e.g. because the engine is down or the disk is full. code: typed reason."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code
