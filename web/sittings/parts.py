"""What the page of an open sitting shows."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.http import HttpRequest

from arena_kit.environment.choices import choices_of, picture_size
from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.so_far import SoFar
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.environment.words import move_in_words
from core.duels.selectors import NotStored, spec_get
from core.jobs.waits import Wait, wait_of
from core.models import Sitting, User
from core.sittings.selectors import sitting_so_far
from core.sittings.services import MOST_STEPS
from web.sittings.offers import Offer, offer_of

SEATED = "sittings"
"""The key in a visitor's session of the sittings that they have begun."""
KEPT_IN_SESSION = 20
STEPS = (1, 5, MOST_STEPS)
"""For how many steps a person may choose where both sides move at once."""


@dataclass(frozen=True, slots=True)
class Board:
    """The state of an open sitting for one reader.

    step: the current one, counted from 0 after the opening. picture: a data URL; empty where something is hidden.
    moves: (seat, sentence) of each step, the last one first. wait: why no worker is at the board.
    """

    sitting: Sitting
    step: int
    picture: str
    size: tuple[float, float]
    text: str
    moves: tuple[tuple[int, str], ...]
    offer: Offer
    is_seated: bool
    is_persons_turn: bool
    is_over: bool
    is_simultaneous: bool
    is_hidden: bool
    wait: Wait | None

    @property
    def steps(self) -> tuple[int, ...]:
        return STEPS if self.is_simultaneous else ()

    @property
    def is_live(self) -> bool:
        """Whether the page asks again by itself: something may happen without its reader."""
        return not (self.is_seated and self.is_persons_turn)

    @property
    def news(self) -> str:
        """What has changed, as a sentence for screen readers too."""
        agent = str(self.sitting.submission)
        if self.is_over:
            return "The match is over. The result is being written."
        if self.sitting.resigned_at is not None:
            return f"{'You have' if self.is_seated else f'{self.sitting.persons_name} has'} resigned."
        if not self.is_persons_turn:
            return f"{agent} is to move."
        last = f"{self.moves[0][1]}. " if self.moves else ""
        return f"{last}{'Your turn.' if self.is_seated else f'{self.sitting.persons_name} is to move.'}"


def is_seated(request: HttpRequest, sitting: Sitting) -> bool:
    """Return whether a request comes from the person who plays."""
    if isinstance(request.user, User) and request.user.pk == sitting.user_id:
        return True
    # A visitor may have logged in since.
    return str(sitting.public_id) in request.session.get(SEATED, [])


def seat_remember(request: HttpRequest, sitting: Sitting) -> None:
    """Let a visitor's browser play the match that it has begun."""
    if not isinstance(request.user, User):
        known = request.session.get(SEATED, [])
        request.session[SEATED] = [*known, str(sitting.public_id)][-KEPT_IN_SESSION:]


def board_of(request: HttpRequest, sitting: Sitting) -> Board:
    """Return what a reader sees of an open sitting. Raises NotStored."""
    spec, state, seated = spec_get(sitting), sitting_so_far(sitting), is_seated(request, sitting)
    seat, is_hidden = sitting.persons_seat, spec.isolation == "apart"
    is_turn = seat in state.waiting and sitting.resigned_at is None
    try:
        svg = "" if is_hidden else spec.render(state.frame)
        choices = choices_of(spec, state.frame, state.valid[seat]) if is_turn and seated else ()
        moves = () if is_hidden else moves_said(spec, sitting, state, "You" if seated else sitting.persons_name)
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        raise NotStored("The code of this environment has failed, so the match cannot be drawn now.") from None
    return Board(
        sitting=sitting,
        step=len(state.steps),
        picture=f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}" if svg else "",
        size=picture_size(svg),
        text=_seen(spec, state, seat, seated=seated) if is_hidden else state.text,
        moves=moves,
        offer=offer_of(choices, request.GET.get("first", "")),
        is_seated=seated,
        is_persons_turn=is_turn,
        is_over=state.is_over,
        is_simultaneous=len(state.to_move) > 1,
        is_hidden=is_hidden,
        wait=None if is_turn else wait_of(sitting),
    )


def _seen(spec: EnvironmentSpec, state: SoFar, seat: int, *, seated: bool) -> str:
    """Return what the person's seat sees where players may not know everything; other readers see nothing."""
    if not seated:
        return "This game has hidden information. It is shown when the match is over."
    values = _values(spec, state.observations[seat])
    names = spec.observation_names
    if names:
        return "\n".join(f"{name}: {value:g}" for name, value in zip(names, values, strict=True))
    row = spec.observation.shape[-1]
    return "\n".join(" ".join(f"{value:g}" for value in values[at : at + row]) for at in range(0, len(values), row))


def _values(spec: EnvironmentSpec, observation: Sequence[float] | bytes) -> list[float]:
    if not isinstance(observation, bytes):
        return [float(value) for value in observation]
    found: list[float] = np.frombuffer(observation, np.dtype(spec.observation.wire).newbyteorder("<")).tolist()
    return found


def moves_said(spec: EnvironmentSpec, sitting: Sitting, state: SoFar, person: str) -> tuple[tuple[int, str], ...]:
    """Return (seat, sentence) of each step, the last one first, in the words of recorded matches."""
    names = (person, str(sitting.submission))
    lines = []
    for step, moves in enumerate(state.steps):
        before = state.frames[step] if state.frames else {}
        said = "; ".join(
            f"{names[sitting.seats[seat]]} played {move_in_words(spec, before, action)}" for seat, action in moves
        )
        lines.append((moves[0][0], said))
    return tuple(reversed(lines))
