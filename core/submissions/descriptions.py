"""Owners' descriptions of their agents."""

from __future__ import annotations

import unicodedata

from core.errors import Refused
from core.models import Agent

MOST_CHARACTERS = 2000


def agent_describe(*, agent: Agent, description: str) -> None:
    """Replace an agent's description, which is Markdown; pages clean it. Raises Refused when it is too long."""
    # Line feeds and tabs are the only control characters of a text. Joiners make letters and emoji what they are.
    lines = description.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    text = "\n".join("".join(filter(_is_shown, line)) for line in lines)
    if len(text.strip()) > MOST_CHARACTERS:
        raise Refused(f"The description is longer than {MOST_CHARACTERS} characters.", field="description")
    agent.description = text.strip()
    agent.save(update_fields=["description"])


def agent_share(*, agent: Agent, shares_moves: bool) -> None:
    """Say whether the matches of an agent may be part of public data sets."""
    agent.shares_moves = shares_moves
    agent.save(update_fields=["shares_moves"])


def _is_shown(character: str) -> bool:
    return character.isprintable() or character in "\t\u200c\u200d" or unicodedata.category(character) == "Zs"
