"""Beginnings of addresses that several nouns share."""

from __future__ import annotations

AGENT = "environments/<slug:slug>/agents/<str:name>/"
EDITION = "environments/<slug:slug>/editions/<int:edition>/"
