"""Background work of the builder, by the id of its job."""

from __future__ import annotations

