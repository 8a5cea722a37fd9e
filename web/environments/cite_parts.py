"""The parts of a citation: the table as it stood, an entry for BibTeX, and the digest of the results behind it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.urls import reverse
from django.utils import timezone
from django.utils.text import get_text_list

from core.evaluations.board import BoardFilter
from core.evaluations.comparison import compare
from core.links import absolute
from core.models import Environment, Submission
from core.ratings.history import leaderboard_as_of
from core.tournaments.cited import cited_results
from core.tournaments.comparison import duels_compare
from web.comparisons.score_parts import pairs, side_by_side
from web.environments.exports import past_records, score_records
from web.site.exports import Row, csv_text

MOST_ROWS = 20
BIBTEX = """\
@misc{{{key},
  title = {{{title}}},
  author = {{{{{author}}}}},
  year = {{{at:%Y}}},
  month = {{{at:%m}}},
  url = {{{address}}},
  note = {{As of {as_of} UTC. SHA-256 of the results: {digest}}}
}}"""


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation. sentences: the verdicts of a comparison. checked: the last duel or evaluation with a record."""

    title: str
    moment: datetime
    rows: Sequence[Row]
    sentences: Sequence[str]
    count: int
    digest: str
    results: str
    bibtex: str
    checked: Mapping[str, Any] | None

    @property
    def is_over(self) -> bool:
        """Return whether the moment is past, so that no result can come before it any more."""
        return self.moment < timezone.now()


def cited(row: Environment, moment: datetime, as_of: str, versions: Sequence[Submission]) -> Cited:
    """Return the citation of a leaderboard at a moment, or of a comparison if there are several versions.

    as_of: the moment as the address has it.
    """
    compared = versions if len(versions) > 1 else ()
    found = cited_results(row, moment, of=compared)
    digest = hashlib.sha256(csv_text(found).encode()).hexdigest()
    query = urlencode([*(("id", str(one.public_id)) for one in compared), ("as_of", as_of)], safe=":")
    names = get_text_list([str(one) for one in compared], "and")
    title = f"{names} in {row}" if compared else f"Leaderboard of {row}"
    return Cited(
        title=title,
        moment=moment,
        rows=() if compared else board_then(row, moment),
        sentences=_verdicts(row, compared, moment) if compared else (),
        count=len(found),
        digest=digest,
        results=absolute(f"{reverse('web:cite_results', args=[row.slug])}?{query}"),
        bibtex=BIBTEX.format(
            key=f"arena-{row.slug}-{digest[:8]}",
            title=_plain(title),
            author=_plain(settings.SITE_NAME),
            at=moment,
            address=absolute(f"{reverse('web:cite', args=[row.slug])}?{query}"),
            as_of=_plain(as_of),
            digest=digest,
        ),
        checked=next((one for one in reversed(found) if one["record_sha256"]), None),
    )


def board_then(row: Environment, moment: datetime) -> list[Row]:
    """Return the best of a leaderboard as it stood at a moment, as in its file."""
    if row.is_scored:
        return score_records(row, BoardFilter(as_of=moment), most=MOST_ROWS)
    found = leaderboard_as_of(row, moment)
    return past_records(found.points[:MOST_ROWS]) if found else []


def _verdicts(row: Environment, versions: Sequence[Submission], moment: datetime) -> list[str]:
    """Return the verdict of a comparison by duels, or of each pair that is compared by scores."""
    if not row.is_scored:
        return [duels_compare(versions[0], versions[1], AnonymousUser(), until=moment).sentence]
    found = compare(row, [one.public_id for one in versions], until=moment)
    compared = pairs(side_by_side(found.evaluations), found.differences)
    sentences = [
        one.sentence or f"{one.first.evaluation.submission} and {one.second.evaluation.submission} played other seeds."
        for one in compared
    ]
    return sentences or ["Fewer than two of them had been evaluated by then."]


def _plain(text: str) -> str:
    """Return a text without the characters that mean something to TeX."""
    return re.sub(r"[\\{}$&#^_~%]", " ", text)
