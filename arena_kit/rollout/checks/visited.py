"""Checks of what the agent did in the browser: requests, the last address and page, and the names of actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from arena_kit.rollout.checks.base import Condition, Judged
from arena_kit.rollout.checks.evidence import Evidence, readable
from arena_kit.rollout.checks.exported import range_read
from arena_kit.rollout.exports.requests import MOST_REQUESTS, Request, path_fits
from arena_kit.rollout.values.actions import ACTIONS
from arena_kit.rollout.values.equality import are_equal, shown
from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.paths import NOTHING

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
MOST_STEPS = 1_000


@dataclass(frozen=True)
class Wanted:
    """Parameters that a request must have. exact: whether it may have no others, those of `ignore` left out."""

    values: Mapping[str, Any]
    exact: bool = False
    ignore: frozenset[str] = frozenset()

    def difference(self, found: Mapping[str, Any], what: str) -> str:
        """Return what is different in a sentence, or an empty text."""
        for name, value in self.values.items():
            if name not in found:
                return f"The {what} {name} is missing."
            if value is not None and not _same(value, found[name]):
                return f"The {what} {name} is {readable(_single(found[name]))}, not {readable(value)}."
        others = [name for name in found if name not in self.values and name not in self.ignore]
        return f"The {what} {others[0]} should not be there." if self.exact and others else ""


@dataclass(frozen=True)
class RequestCheck(Condition):
    """A request to a service. last: whether only the last one to that path by that method is looked at."""

    KIND: ClassVar[str] = "request"
    NEEDS: ClassVar[str] = "the network log"
    method: str
    path: str
    query: Wanted
    form: Wanted
    status: tuple[int, ...]
    last: bool
    count: tuple[int, int]

    @classmethod
    def read(cls, fields: Fields) -> RequestCheck | None:
        """See Condition."""
        method, path = fields.choice("method", METHODS), _path(fields)
        exact, ignore = fields.flag("exact", default=False), frozenset(fields.texts("ignore"))
        query, form = (
            Wanted(_parameters(fields, name), exact and name in fields, ignore) for name in ("query", "form")
        )
        status = _statuses(fields)
        count = fields.take("count")
        bounds = (1, MOST_REQUESTS) if count is NOTHING else range_read(fields, "count", count, MOST_REQUESTS)
        return bounds and cls(method, path, query, form, status, fields.flag("last", default=False), bounds)

    def judge(self, evidence: Evidence) -> Judged:
        """See Condition."""
        to_path = [each for each in evidence.network() if self._is_addressed(each)]
        if self.last:
            to_path = to_path[-1:]
        sentences = [self._difference(each) for each in to_path]
        count = sentences.count("")
        wanted, actual = self._wanted(), f"{count} of {len(to_path)} requests to that path"
        if self.count[0] <= count <= self.count[1]:
            return Judged(True, "", wanted, actual)
        near = next((sentence for sentence in reversed(sentences) if sentence), "")
        return Judged(False, f"{count} requests fit. {near}".strip(), wanted, actual)

    def _is_addressed(self, request: Request) -> bool:
        return self.method in ("", request.method) and path_fits(self.path, request.address.path)

    def _difference(self, request: Request) -> str:
        if self.status and request.status not in self.status:
            return f"A request was answered with the status {request.status}."
        query = self.query.difference(request.address.query, "parameter")
        return query or self.form.difference(request.form, "field")

    def _wanted(self) -> str:
        least, most = self.count
        times = (
            f"{least} times"
            if least == most
            else f"at least {least} times"
            if most == MOST_REQUESTS
            else f"{least} to {most} times"
        )
        return f"{self.method or 'any method'} {self.path}, {times}"


@dataclass(frozen=True)
class UrlCheck(Condition):
    """The last address of the active tab."""

    KIND: ClassVar[str] = "url"
    NEEDS: ClassVar[str] = "the last address"
    path: str
    query: Wanted

    @classmethod
    def read(cls, fields: Fields) -> UrlCheck | None:
        """See Condition."""
        path, exact = _path(fields), fields.flag("exact", default=False)
        return cls(path, Wanted(_parameters(fields, "query"), exact, frozenset(fields.texts("ignore"))))

    def judge(self, evidence: Evidence) -> Judged:
        """See Condition."""
        address = evidence.address()
        if not path_fits(self.path, address.path):
            sentence = f"The last page is {readable(address.path)}, not {self.path}."
            return Judged(False, sentence, self.path, readable(evidence.last_url))
        sentence = self.query.difference(address.query, "parameter")
        return Judged(not sentence, sentence, self.path, readable(evidence.last_url))


@dataclass(frozen=True)
class PageCheck(Condition):
    """Texts of the last page; white space counts as one space."""

    KIND: ClassVar[str] = "page"
    NEEDS: ClassVar[str] = "the last page"
    contains: tuple[str, ...]

    @classmethod
    def read(cls, fields: Fields) -> PageCheck | None:
        """See Condition."""
        contains = fields.texts("contains")
        if not contains:
            fields.flaw("bad_check", "", "It needs the key contains: a text or a list of texts.")
        return cls(contains) if contains else None

    def judge(self, evidence: Evidence) -> Judged:
        """See Condition."""
        page = " ".join(evidence.page().split())
        lost = [text for text in self.contains if " ".join(text.split()) not in page]
        sentence = f"{shown(lost[0])} is not on the last page." if lost else ""
        return Judged(not lost, sentence, readable(list(self.contains)), readable(page))


@dataclass(frozen=True)
class StepsCheck(Condition):
    """How many actions the agent needed, and which ones it may not use."""

    KIND: ClassVar[str] = "steps"
    NEEDS: ClassVar[str] = "the log of steps"
    most: int
    never: tuple[str, ...]

    @classmethod
    def read(cls, fields: Fields) -> StepsCheck | None:
        """See Condition."""
        most, never = fields.whole("max", default=MOST_STEPS, least=1, most=MOST_STEPS), fields.texts("never")
        if unknown := [name for name in never if name not in ACTIONS]:
            fields.flaw("bad_value", "never", f"{shown(unknown[0])} is not an action; use {', '.join(ACTIONS)}.")
        if "max" not in fields and "never" not in fields:
            fields.flaw("bad_check", "", "It needs at least one of the keys max and never.")
            return None
        return cls(most, never)

    def judge(self, evidence: Evidence) -> Judged:
        """See Condition."""
        steps = evidence.steps()
        wanted = f"at most {self.most} steps" + (f" without {', '.join(self.never)}" if self.never else "")
        used = next((name for name in steps if name in self.never), "")
        sentence = f"The action {used} was used." if used else ""
        if len(steps) > self.most:
            sentence = f"{len(steps)} steps were taken."
        return Judged(not sentence, sentence, wanted, f"{len(steps)} steps")


def _path(fields: Fields) -> str:
    path = fields.text("path", is_needed=True)
    if path and not path.startswith("/"):
        fields.flaw("bad_value", "path", "A path begins with a slash, e.g. /orders/{id}.")
    return path


def _parameters(fields: Fields, name: str) -> Mapping[str, Any]:
    found = fields.object(name) or {}
    return {key: _texts(value) for key, value in found.items()}


def _texts(value: Any) -> Any:
    """Return a parameter as it stands in an address: a number or a boolean is a text there."""
    if isinstance(value, bool) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return shown(value)
    return [_texts(each) for each in value] if isinstance(value, list) else value


def _statuses(fields: Fields) -> tuple[int, ...]:
    value = fields.take("status")
    found = () if value is NOTHING else value if isinstance(value, list) else [value]
    if all(isinstance(each, int) and not isinstance(each, bool) and 100 <= each <= 599 for each in found):
        return tuple(found)
    fields.flaw("bad_value", "status", "It must be a status such as 200, or a list of them.")
    return ()


def _same(wanted: Any, found: Any) -> bool:
    """Return whether a parameter is as wanted; of a form the values are tuples of texts, of JSON any values."""
    if not isinstance(found, tuple):
        return are_equal(wanted, _texts(found))
    return are_equal(list(wanted) if isinstance(wanted, list) else [wanted], list(found))


def _single(found: Any) -> Any:
    return found[0] if isinstance(found, tuple) and len(found) == 1 else found
