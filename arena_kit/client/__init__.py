"""Speaks to an arena's site by its API; uses the standard library only."""

from __future__ import annotations

from arena_kit.client.client import Client
from arena_kit.client.errors import SiteError, Trouble

__all__ = ["Client", "SiteError", "Trouble"]
