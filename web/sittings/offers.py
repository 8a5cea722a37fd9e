"""The choices of a person at the board: places in the picture, and a list of named actions with keys."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.environment.choices import OPPONENT, Area, Choice, Part


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the picture that can be clicked."""

    x: float
    y: float
    width: float
    height: float

    @classmethod
    def of(cls, area: Area | None) -> Spot | None:
        return None if area is None else cls(*area)


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to choose. action: the action that it plays; None if it is the first of two decisions.

    word: names that decision in the page's address. picture: a data URL; empty without one. is_rest: as in a Part.
    """

    name: str
    key: str
    place: Spot | None
    action: int | None = None
    word: str = ""
    picture: str = ""
    is_rest: bool = False

    @property
    def shown_key(self) -> str:
        """The key as people call it."""
        return {"ArrowUp": "↑", "ArrowDown": "↓", "ArrowLeft": "←", "ArrowRight": "→", " ": "space"}.get(
            self.key, self.key
        )


@dataclass(frozen=True, slots=True)
class Offer:
    """The present choices of a person. options: the list. others: other first decisions, only as places in the picture.

    chosen: the first of two decisions, if it is made. request: what to choose, as a sentence.
    """

    options: tuple[Option, ...] = ()
    others: tuple[Option, ...] = ()
    chosen: Option | None = None
    request: str = ""

    @property
    def places(self) -> tuple[Option, ...]:
        """Return the places that can be clicked in the picture."""
        return tuple(option for option in (*self.others, *self.options) if option.place is not None)

    @property
    def needs_two(self) -> bool:
        """Return whether an action is two decisions and the first is to be made."""
        return bool(self.options) and self.options[0].action is None


def offer_of(choices: Sequence[Choice], word: str, opponent: str) -> Offer:
    """Return what a person can choose. word: the first decision that they have made, where an action is two."""
    if all(len(choice.parts) == 1 for choice in choices):
        parts = [choice.parts[0] for choice in choices]
        return Offer(
            tuple(_option(choice.parts[0], choice.action) for choice in choices), request=_request(parts, opponent)
        )
    firsts = {choice.parts[0].word: _option(choice.parts[0]) for choice in choices}
    chosen = firsts.pop(word, None)
    if chosen is None:
        return Offer(tuple(firsts.values()), request=_request([choices[0].parts[0]], opponent))
    rest = [choice for choice in choices if choice.parts[0].word == word]
    options = tuple(_option(choice.parts[1], choice.action) for choice in rest)
    return Offer(options, tuple(firsts.values()), chosen, _request([choice.parts[1] for choice in rest], opponent))


def _request(parts: Sequence[Part], opponent: str) -> str:
    return parts[0].request.replace(OPPONENT, opponent) if parts else ""


def picture_address(svg: str) -> str:
    """Return a picture as a data URL; empty without one."""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}" if svg else ""


def _option(part: Part, action: int | None = None) -> Option:
    picture = picture_address(part.picture)
    return Option(part.name, part.key, Spot.of(part.area), action, part.word, picture, part.is_rest)
