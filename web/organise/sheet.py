"""A plain list of the organisers' pages: what it shows, finds and offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model, Q, QuerySet

from core.models import Submission, Tournament
from core.submissions.named import public_id_of
from web.organise.action import OrganiserAction
from web.organise.actions.registry import KINDS
from web.site.requests import whole_number

ALL = {"all": ("All", Q())}
"""The filter that shows every row."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list. of: a path of attributes, or a function of the row. kind: how its values are written."""

    title: str
    of: str | Callable[[Any], object]
    kind: str = ""

    @property
    def is_number(self) -> bool:
        """Return whether its values are numbers, which stand at the right."""
        return self.kind in ("num", "bytes", "money", "prices", "took")

    def value(self, row: Any) -> object:
        """Return what stands in the column for a row."""
        if callable(self.of):
            return self.of(row)
        for name in self.of.split("."):
            row = getattr(row, name, None)
        return row() if callable(row) else row


@dataclass(frozen=True, slots=True)
class Sheet:
    """A list of the rows of one model, with the actions on them.

    slug: in its address, after /organise/. tab: the name of the tab that it belongs to. about: what the rows are.
    search: lookups for words, or for a whole number (#), an id (@) or all of a text (=). page: the address behind a
    row's name. shown: title and condition of each filter by its key, the first one as default. environment: the lookup
    of the environment; empty for none. doc: a page of the documentation. prepare: adds what the columns read.
    """

    model: type[Model]
    slug: str
    title: str
    tab: str
    about: str
    columns: Sequence[Column]
    search: Sequence[str]
    page: Callable[[Any], str] | None = None
    shown: Mapping[str, tuple[str, Q]] = field(default_factory=lambda: ALL)
    environment: str = "environment"
    order: Sequence[str] = ("-pk",)
    doc: str = ""
    prepare: Callable[[QuerySet[Any]], QuerySet[Any]] = lambda rows: rows

    @property
    def kind(self) -> str:
        """The name of its model, in small letters."""
        return str(self.model._meta.model_name)

    @property
    def right(self) -> str:
        """The right to see it."""
        return f"core.view_{self.kind}"

    @property
    def name(self) -> str:
        """The name of its address."""
        return f"organise_{self.slug.replace('/', '_')}"

    @property
    def actions(self) -> Sequence[OrganiserAction[Any]]:
        """The acts on its rows."""
        return KINDS[self.kind].actions if self.kind in KINDS else ()

    def rows(self, words: str, show: str, slug: str) -> QuerySet[Any]:
        """Return the rows that have all words, fit a filter and belong to an environment, in order."""
        rows = self.prepare(self.model._default_manager.all())
        if self.kind in KINDS:
            rows = rows.select_related(*KINDS[self.kind].related)
        for word in words.split():
            rows = rows.filter(has_word(self.model, self.search, word))
        _, condition = self.shown.get(show) or next(iter(self.shown.values()))
        if slug and self.environment:
            rows = rows.filter(**{f"{self.environment}__slug": slug})
        return rows.filter(condition).order_by(*self.order)


def has_word(model: type[Model], search: Sequence[str], word: str) -> Q:
    """Match rows that a word finds. search: as in `Sheet`. The versions and tournaments that it finds are read first,
    as PostgreSQL would otherwise look at every row of the model."""
    found = Q(pk__in=())
    for lookup in search:
        mark, path = (lookup[0], lookup[1:]) if lookup[0] in "#@=" else ("", lookup)
        value = {"#": whole_number, "@": public_id_of}.get(mark, str)(word)
        if value is None:
            continue
        asked: dict[str, Any] = {path if mark in ("#", "@") else f"{path}__{'iexact' if mark else 'icontains'}": value}
        first = path.partition("__")[0]
        related = None if first == path else model._meta.get_field(first).related_model
        if related in (Submission, Tournament):
            keys = related._default_manager.filter(**{name.partition("__")[2]: one for name, one in asked.items()})
            asked = {f"{first}__in": list(keys.values_list("pk", flat=True))}
        found |= Q(**asked)
    return found
