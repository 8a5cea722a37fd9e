"""Every environment of this arena, loaded on first use from the `info.yml` beside its rules."""

from __future__ import annotations
