"""Errors of backups; every message has a remedy."""

from __future__ import annotations


class BackupError(Exception):
    """A backup cannot be made or restored."""


class BackupDamaged(BackupError):
    """A file is not a complete backup: torn, changed, or with parts missing or added."""


class RestoreRefused(BackupError):
    """A backup is complete, but cannot be restored into this arena."""
