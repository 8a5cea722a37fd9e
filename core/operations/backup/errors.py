"""What can be wrong with a backup; every message says what to do."""

from __future__ import annotations


class BackupError(Exception):
    """A backup cannot be made or put back."""


class BackupDamaged(BackupError):
    """A file is no whole backup: torn, changed, or with parts missing or added."""


class RestoreRefused(BackupError):
    """A backup is whole, but does not go into this arena."""
