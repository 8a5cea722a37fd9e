"""Finds versions by what people call them: the id of a version, an agent, or an agent and a number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from uuid import UUID

from core.models import Environment, Submission

_NAMED = re.compile(r"([A-Za-z0-9_-]{1,50})(?:[ /@]v?([1-9][0-9]{0,7}))?", re.ASCII)


def versions_named(environment: Environment, words: Sequence[str]) -> list[Submission | None]:
    """Return the version that each word names in an environment; None for a word that names none.

    A word is the id of a version, an agent and a number as in “alpha v2”, or the name of an agent, which stands for the
    version that plays or is on the board, or else for the newest.
    """
    rows = Submission.objects.filter(agent__environment=environment, is_trial=False)
    rows = rows.select_related("agent__environment", "agent__owner")
    ids = {word: public_id for word in words if (public_id := public_id_of(word)) is not None}
    by_id = {row.public_id: row for row in rows.filter(public_id__in=ids.values())} if ids else {}
    found = []
    for word in words:
        if word in ids:
            found.append(by_id.get(ids[word]))
            continue
        named = _NAMED.fullmatch(word.strip())
        of_agent = rows.filter(agent__name__iexact=named[1]).order_by("-number") if named else rows.none()
        if named and named[2]:
            found.append(of_agent.filter(number=int(named[2])).first())
            continue
        stands = of_agent.filter(evaluations__is_current=True) if environment.is_scored else of_agent.active()
        found.append((stands.first() or of_agent.first()) if named else None)
    return found


def public_id_of(word: str) -> UUID | None:
    """Return the id that a word is; None for any other word."""
    try:
        return UUID(word)
    except ValueError:
        return None
