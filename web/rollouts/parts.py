"""The parts of rollouts' pages: steps around the one that is looked at, its picture and page, a mark on its target."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from django.http import QueryDict

from core.duels.selectors import NotStored
from core.files.removed import removed_on
from core.models import Rollout, Task
from core.rollouts.records import StateChange, StateChanges, changes_of, last_step, page_of, steps_of
from web.site.requests import whole_number

STEPS_A_PAGE, PAIRS_A_PAGE = 50, 200
MOST_PAGE, MOST_CHANGES = 60_000, 100
VIEWPORT = (1280, 720)
"""The size of pictures, in pixels."""
_BOX = r"[^\n]*\[box=(?P<x>-?[\d.]+),(?P<y>-?[\d.]+),(?P<width>[\d.]+),(?P<height>[\d.]+)\]"
_REF = re.compile(r"\w{1,20}\Z")
_SELECTOR = re.compile(
    r"(?:role=(?P<role>[\w-]{1,40})\[name=(?P<name>.{1,500})\](?: >> nth=(?P<nth>\d{1,4}))?|"
    r"label=(?P<label>.{1,500}))\Z"
)
_LABELLED = "(?:textbox|searchbox|combobox|listbox|checkbox|radio|spinbutton|slider|switch)"


@dataclass(frozen=True, slots=True)
class ActionMark:
    """Where an action went, in pixels of the picture."""

    x: float
    y: float
    width: float = 0.0
    height: float = 0.0


@dataclass(frozen=True, slots=True)
class StepView:
    """One step. picture, page: what the agent saw when it acted. mark: where on it the action went."""

    step: Mapping[str, Any]
    picture: str
    page: str
    mark: ActionMark | None
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class StepsView:
    """The steps around the one that is looked at. number, last: of that one and of the last one; 0 without steps."""

    steps: Sequence[Mapping[str, Any]]
    shown: StepView | None
    number: int
    last: int
    sentence: str = ""

    @property
    def before(self) -> int:
        """The step before the list, 0 if it begins with the first one."""
        return self.steps[0]["number"] - 1 if self.steps else 0

    @property
    def after(self) -> int:
        """The step after the list, 0 if it ends with the last one."""
        return self.steps[-1]["number"] + 1 if self.steps and self.steps[-1]["number"] < self.last else 0


def steps_view(rollout: Rollout, query: QueryDict) -> StepsView:
    """Return the steps of a rollout as an address asks for them."""
    try:
        last = last_step(rollout)
        number = min(max(1, number_in(query, "step", 1 if rollout.is_over else last)), last)
        begin = max(0, number - 1) // STEPS_A_PAGE * STEPS_A_PAGE
        steps = steps_of(rollout, after=begin, most=STEPS_A_PAGE)
    except NotStored as missing:
        return StepsView([], None, 0, 0, str(missing))
    if not steps:
        return StepsView([], None, 0, 0)
    # The row of a running rollout has only its latest steps.
    step = next((step for step in steps if step["number"] >= number), steps[-1])
    return StepsView(steps, _shown(rollout, step), step["number"], last)


def number_in(query: QueryDict, name: str, other: int) -> int:
    """Return a whole number from an address, or a default where the text is not one."""
    number = whole_number(query.get(name, ""))
    return other if number is None else number


def _shown(rollout: Rollout, step: Mapping[str, Any]) -> StepView:
    sha256, sentence = step.get("snapshot_sha256"), ""
    try:
        page = page_of(rollout, sha256) if sha256 else ""
    except NotStored as missing:
        page, sentence = "", str(missing) if rollout.is_over else ""
    picture = step.get("picture") or "" if rollout.pages and not removed_on(rollout.pages.name) else ""
    return StepView(step, picture, page[:MOST_PAGE], mark_of(step.get("action") or {}, page), sentence)


def mark_of(action: Mapping[str, Any], page: str) -> ActionMark | None:
    """Return where an action went: its coordinates, or the box of its element in the page that the agent saw.

    Of a drag it is where it began.
    """
    begun = action.get("from")
    x, y = begun if isinstance(begun, list) and len(begun) == 2 else (action.get("x"), action.get("y"))
    if isinstance(x, int | float) and isinstance(y, int | float):
        scale = action.get("scale")
        if not scale:
            return ActionMark(float(x), float(y))
        if not isinstance(scale, int | float):
            return None
        return ActionMark(x * VIEWPORT[0] / scale, y * VIEWPORT[1] / scale)
    line, place = _line_of(action.get("ref") or begun, action.get("selector"))
    boxes = list(islice(re.finditer(line + _BOX, page), place, place + 1)) if line else ()
    return ActionMark(**{name: float(value) for name, value in boxes[0].groupdict().items()}) if boxes else None


def _line_of(ref: Any, selector: Any) -> tuple[str, int]:
    """Return how the line of an element in a page begins, and which of these lines it is; an empty text if unknown."""
    if isinstance(ref, str) and _REF.match(ref):
        return rf"\[ref={ref}\]", 0
    found = _SELECTOR.match(selector) if isinstance(selector, str) else None
    if found is None:
        return "", 0
    role = _LABELLED if found["label"] else re.escape(found["role"])
    name = re.escape(json.dumps(found["label"] or found["name"], ensure_ascii=False))
    return rf"(?m:^\s*- {role} {name} )", int(found["nth"] or 0)


@dataclass(frozen=True, slots=True)
class StepPair:
    """The steps of two rollouts with the same number; None where one has ended."""

    number: int
    first: Mapping[str, Any] | None
    second: Mapping[str, Any] | None
    is_same: bool


@dataclass(frozen=True, slots=True)
class Alignment:
    """Some of the steps of two rollouts, paired by their numbers.

    differs: the number of the first action that differs, 0 if none does. last: the number of the last step of both.
    """

    pairs: Sequence[StepPair]
    differs: int
    last: int

    @property
    def before(self) -> int:
        """A step before those that are shown, 0 if they begin with the first one."""
        return self.pairs[0].number - 1 if self.pairs else 0

    @property
    def after(self) -> int:
        """The step after those that are shown, 0 if they end with the last one."""
        return self.pairs[-1].number + 1 if self.pairs and self.pairs[-1].number < self.last else 0


def aligned(first: Iterable[Mapping[str, Any]], second: Iterable[Mapping[str, Any]], *, at: int = 1) -> Alignment:
    """Pair the steps of two rollouts, read one by one, and keep those of the page on which a step is."""
    begin = max(0, at - 1) // PAIRS_A_PAGE * PAIRS_A_PAGE
    pairs: list[StepPair] = []
    differs = last = 0
    for last, (one, other) in enumerate(zip_longest(first, second), start=1):
        is_same = one is not None and other is not None and _deed(one) == _deed(other)
        differs = differs or (0 if is_same else last)
        if begin < last <= begin + PAIRS_A_PAGE:
            pairs.append(StepPair(last, one, other, is_same))
    return Alignment(pairs, differs, last)


def _deed(step: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return what two steps must share to be equal; references of elements may differ where selectors do not."""
    action = {name: value for name, value in (step.get("action") or {}).items() if name not in ("note", "ref")}
    return action, step.get("target") or (step.get("action") or {}).get("ref")


@dataclass(frozen=True, slots=True)
class ChangesView:
    """The changes of a rollout: the first changes, and how many are left out."""

    found: StateChanges
    shown: Sequence[StateChange]

    @property
    def left_out(self) -> int:
        """How many changes are not shown."""
        return self.found.total - len(self.shown)


def changes_view(rollout: Rollout) -> ChangesView | None:
    """Return what a rollout has changed; None if it is not kept."""
    try:
        found = changes_of(rollout)
    except NotStored:
        return None
    return ChangesView(found, found.changes[:MOST_CHANGES])


@dataclass(frozen=True, slots=True)
class ChangesCompared:
    """The changes that only one of two rollouts has made, and the number of those that both have made."""

    first: Sequence[StateChange]
    second: Sequence[StateChange]
    both: int


def changes_compared(first: Rollout, second: Rollout) -> ChangesCompared | None:
    """Compare what two rollouts have left; None if that of one is not kept."""
    try:
        one, other = (changes_of(each).changes for each in (first, second))
    except NotStored:
        return None
    ours, theirs = set(one), set(other)
    return ChangesCompared(
        [each for each in one if each not in theirs][:MOST_CHANGES],
        [each for each in other if each not in ours][:MOST_CHANGES],
        len(ours & theirs),
    )


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """The attempts of a batch at a task."""

    task: Task
    rollouts: Sequence[Rollout]
    often: str
