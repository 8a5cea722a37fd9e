"""An act of an organiser on a row, and the question before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django import forms
from django.db.models import Model

from core.jobs.states import StaleJob
from core.models import User
from core.people.rights import SUPERUSER

Row = TypeVar("Row", bound=Model)
NAMES_SHOWN = 3
PREDICATES = frozenset({"is", "has", "was", "waits", "begins", "ends", "may", "can", "goes", "now"})
"""First words of messages that continue the row's name; all other messages are whole sentences."""
MOST_NUMBER = 10**6
CHANGED = "has changed meanwhile, so nothing was done. Reload the page and try again."


@dataclass(frozen=True, slots=True)
class OrganiserQuestion:
    """A question before an action. number, reason: labels of the fields; empty for no such field.

    least, most: the range of the number. suggested: the number that the form of one row begins with. preview: lines
    about what would follow for one row. fields: further ones for some rows.
    """

    title: str
    consequence: str
    button: str
    reason: str = ""
    number: str = ""
    least: int = 1
    most: int = MOST_NUMBER
    suggested: Callable[[Any], int] | None = None
    preview: Callable[[Any], Sequence[str]] | None = None
    fields: Callable[[Sequence[Any]], Mapping[str, forms.Field]] | None = None


@dataclass(frozen=True, slots=True)
class OrganiserAnswer:
    """The answer to a question. reason: empty if it did not ask for one; number: 0 if not; more: of its fields."""

    reason: str
    number: int
    user: User
    more: Mapping[str, Any]


def always(_: Any) -> bool:
    """Return True: the action is offered for every row."""
    return True


@dataclass(frozen=True, slots=True)
class OrganiserAction(Generic[Row]):
    """An action on a row.

    name: in addresses and in the audit log. label: what it does, in words. button: on pages. do: does it and
    returns a sentence, or raises Refused. question: what is asked before; None for an action that is done at once.
    fits: whether a page offers it for a row; `do` checks it again. right: which right it needs, on the
    row's model or on the model `of`; or SUPERUSER. is_told: whether the row's owner is told; False if nothing changes
    for them, or if `do` tells them.
    """

    name: str
    label: str
    button: str
    do: Callable[[Row, OrganiserAnswer], str]
    question: OrganiserQuestion | None = None
    fits: Callable[[Row], bool] = always
    right: str = "change"
    of: str = ""
    is_told: bool = True

    def permission(self, row: Row | type[Row]) -> str:
        """Return the permission that it needs for a row, or for the rows of a model."""
        if self.right == SUPERUSER:
            return SUPERUSER
        app, _, model = (self.of or row._meta.label_lower).partition(".")
        return f"{app}.{self.right}_{model}"


class QuestionForm(forms.Form):
    """The fields of a question: a number, a reason that people will read, and further ones for some rows."""

    number = forms.IntegerField()
    reason = forms.CharField(max_length=200, strip=True, widget=forms.TextInput(attrs={"size": 80}))

    def __init__(
        self,
        question: OrganiserQuestion | None,
        data: Mapping[str, Any] | None,
        rows: Sequence[Any] = (),
        files: Any = None,
    ) -> None:
        super().__init__(data, files, label_suffix="")
        asked = question or OrganiserQuestion("", "", "")
        self.fields["number"] = forms.IntegerField(min_value=asked.least, max_value=asked.most)
        for name, label in (("number", asked.number), ("reason", asked.reason)):
            if label:
                self.fields[name].label = label
            else:
                del self.fields[name]
        self.fields |= asked.fields(rows) if asked.fields else {}
        for field in list(self.fields.values())[:1]:
            field.widget.attrs["autofocus"] = True

    def answer(self, user: User) -> OrganiserAnswer:
        """Return the answer of a valid form."""
        more = dict(self.cleaned_data)
        return OrganiserAnswer(more.pop("reason", ""), more.pop("number", 0), user, more)


def refused(error: Exception) -> str:
    """Return the sentence about an action that failed with Refused, IllegalTransition or StaleJob."""
    return CHANGED if isinstance(error, StaleJob) else f"nothing was done. {error}"


def said(rows: Sequence[Any], sentence: str) -> str:
    """Return the message about rows. Names keep their letter case, even at the start of the sentence."""
    is_predicate = sentence.partition(" ")[0] in PREDICATES
    if len(rows) == 1:
        return f"{rows[0]}{'' if is_predicate else ':'} {sentence}"
    shown = ", ".join(str(row) for row in rows[:NAMES_SHOWN])
    more = ", …" if len(rows) > NAMES_SHOWN else ""
    each = "each " if is_predicate else ""
    return f"{len(rows)} {rows[0]._meta.verbose_name_plural} ({shown}{more}): {each}{sentence}"
