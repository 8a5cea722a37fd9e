"""The parts of an open sitting's page."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils import timezone

from arena_kit.environment.choices import picture_size
from core.duels.replays import Names, sitting_names
from core.jobs.waits import Wait, wait_of
from core.models import Sitting, User
from core.sittings.services import MOST_STEPS
from web.sittings.offers import Offer, offer_of
from web.sittings.seen import Seen, seen_of

SEATED = "sittings"
"""The key in a visitor's session of the sittings that they have begun."""
KEPT_IN_SESSION = 20
LEAST_LOOK_SECONDS, MOST_LOOK_SECONDS = 0.08, 2.0
"""How soon a page without a stream of events looks again: at first at once, later more rarely."""
WAIT_SECONDS = 3.0
"""How long a reply may take before the page shows why."""
STEPS = (1, 5, MOST_STEPS)
"""For how many steps a person may choose where both sides move at once."""


@dataclass(frozen=True, slots=True)
class Board:
    """The state of an open sitting for one reader.

    step: the current one, counted from 0 after the opening. picture: a data URL; empty where something is hidden.
    moves: (player, sentence) of each step, the last one first. waited_seconds: since the last move. wait: why the reply
    takes so long.
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
    waited_seconds: float
    wait: Wait | None

    @property
    def steps(self) -> tuple[int, ...]:
        return STEPS if self.is_simultaneous else ()

    @property
    def is_live(self) -> bool:
        """Return whether the page reloads by itself: something may happen without its reader."""
        return not (self.is_seated and self.is_persons_turn)

    @property
    def look_ms(self) -> int:
        """Return after how many milliseconds a page without a stream of events looks again."""
        return round(1000 * min(max(self.waited_seconds / 4, LEAST_LOOK_SECONDS), MOST_LOOK_SECONDS))

    @property
    def announcement(self) -> str:
        """Return the state of play as a sentence, for screen readers too."""
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
    seated = is_seated(request, sitting)
    seen = seen_of(sitting, is_seated=seated)
    svg, state = seen.svg, seen.state
    waited = (timezone.now() - sitting.persons_turn_at).total_seconds()
    return Board(
        sitting=sitting,
        step=len(state.steps),
        picture=f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}" if svg else "",
        size=picture_size(svg),
        text=seen.text,
        moves=_sentences(seen, sitting_names(sitting, is_own=seated), sitting.seats),
        offer=offer_of(seen.choices, request.GET.get("first", "")),
        is_seated=seated,
        is_persons_turn=seen.is_turn,
        is_over=state.is_over,
        is_simultaneous=len(state.to_move) > 1,
        is_hidden=seen.is_hidden,
        waited_seconds=waited,
        wait=None if seen.is_turn or waited < WAIT_SECONDS else wait_of(sitting),
    )


def _sentences(seen: Seen, names: Names, seats: tuple[int, ...]) -> tuple[tuple[int, str], ...]:
    """Return (player, sentence) of each step, the last one first, in the words of recorded matches."""
    lines = [
        (seats[moves[0].seat], "; ".join(f"{names[seats[move.seat]]} played {move.words}" for move in moves))
        for moves in seen.moves
    ]
    return tuple(reversed(lines))
