"""The valid actions of a seat as a person chooses among them: by name, by key, or by a place in the picture.

An environment may define how people see its actions: a function `actions_for_people(frame, valid_actions)` in the
module of its renderer returns one Choice for each valid action. Without it an action has its name from the spec, or
its number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arena_kit.environment.loading import load
from arena_kit.environment.protocol import Frame
from arena_kit.environment.spec import EnvironmentSpec

FUNCTION = "actions_for_people"
OPPONENT = "{opponent}"
Area = tuple[float, float, float, float]
"""x, y, width and height in the units of the picture."""


@dataclass(frozen=True, slots=True)
class Part:
    """One decision of an action, such as a cell.

    word: tells it from others, in addresses. name: for people. key: the key that chooses it, as browsers name keys;
    empty without one. area: its place in the picture, if it has one. request: what the person is to choose, with
    OPPONENT for the other side's name. picture: an SVG of what is chosen. is_rest: whether a person who holds no key
    plays it in real time, where both sides move at once.
    """

    word: str
    name: str
    key: str = ""
    area: Area | None = None
    request: str = ""
    picture: str = ""
    is_rest: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A valid action as one decision, or as several that follow each other."""

    action: int
    parts: tuple[Part, ...]

    @property
    def name(self) -> str:
        """All its decisions, for people."""
        return ", ".join(part.name for part in self.parts)


def choices_of(spec: EnvironmentSpec, frame: Frame, valid_actions: Sequence[int]) -> tuple[Choice, ...]:
    """Return the valid actions as a person sees them; each of them once, whatever the environment's code returns."""
    plain = {action: _plain(spec, action) for action in valid_actions}
    describe = None if spec.runs_apart else _described_by(spec)
    found = {} if describe is None else {choice.action: choice for choice in describe(frame, valid_actions)}
    return tuple(found.get(action, choice) for action, choice in plain.items())


def picture_size(svg: str) -> tuple[float, float]:
    """Return the width and height of a picture in its own units; zeros if it does not tell them."""
    found = re.search(r'viewBox="0 0 ([\d.]{1,8}) ([\d.]{1,8})"', svg[:1000])
    return (float(found[1]), float(found[2])) if found else (0.0, 0.0)


def _plain(spec: EnvironmentSpec, action: int) -> Choice:
    name = spec.action_names[action] if spec.action_names else str(action)
    return Choice(action, (Part(str(action), name),))


def _described_by(spec: EnvironmentSpec) -> Callable[[Frame, Sequence[int]], Sequence[Choice]] | None:
    module = spec.renderer.partition(":")[0]
    try:
        described: Callable[[Frame, Sequence[int]], Sequence[Choice]] = load(f"{module}:{FUNCTION}", spec.folder)
    except AttributeError:
        return None
    return described
