"""The parts of a comparison's page besides the comparison: which versions were asked for, and what could not be
found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import QueryDict

from core.evaluations.board import BoardFilter, board_page
from core.models import Environment, Submission
from core.ratings.pairs import best_ratings
from core.submissions.named import versions_named

MOST_WORDS = 16
OFFERED = 40
"""How many agents the form suggests."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The versions that an address asks for. missing: words that name none. left_out: versions beyond the limit."""

    versions: tuple[Submission, ...]
    missing: tuple[str, ...]
    left_out: int

    @property
    def words(self) -> tuple[str, str]:
        """Return the words of the form's two fields."""
        first, second, *_ = *map(str, self.versions), *self.missing, "", ""
        return first, second


def asked(environment: Environment, query: QueryDict, most: int) -> Asked:
    """Return the versions that `?id=…&id=…` names, each once, at most `most`."""
    words = [word.strip()[:80] for word in query.getlist("id")[:MOST_WORDS] if word.strip()]
    found = dict(zip(words, versions_named(environment, words), strict=True))
    versions = list(dict.fromkeys(row for row in found.values() if row is not None))
    missing = tuple(word for word, row in found.items() if row is None)
    return Asked(tuple(versions[:most]), missing, max(0, len(versions) - most))


def offered(environment: Environment) -> Sequence[str]:
    """Return names of agents for the form, the best first."""
    if environment.is_scored:
        return [row.agent for row in board_page(environment, BoardFilter(), limit=OFFERED).rows]
    return [rating.submission.agent.name for rating in best_ratings(environment, OFFERED)]
