"""The parts of an open sitting's page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils import timezone

from arena_kit.environment.choices import picture_size
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay_file.facts import ending, in_one_sentence
from arena_kit.environment.solver import Solution
from core.duels.replays import Names, sitting_names
from core.jobs.waits import Wait, wait_of
from core.links import absolute
from core.models import Sitting, User
from core.sittings.selectors import sitting_get
from core.sittings.services import MOST_STEPS
from web.duels.match_parts import Sharing, preview_tags
from web.site.requests import SEATED
from web.sittings.offers import Offer, offer_of, picture_address
from web.sittings.seen import Seen, seen_of

KEPT_IN_SESSION = 100
"""How many sittings of a visitor their session keeps."""
LEAST_LOOK_SECONDS, MOST_LOOK_SECONDS = 0.08, 2.0
"""How soon a page without a stream of events looks again: at first at once, later more rarely."""
WAIT_SECONDS = 3.0
"""How long a reply may take before the page shows why."""
HINTS = 3
"""The most moves that a hint names."""
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
    can_take_back: bool
    has_solver: bool
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


def get_sitting(public_id: UUID) -> Sitting:
    """Return a sitting. Raises Http404."""
    try:
        return sitting_get(public_id)
    except Sitting.DoesNotExist:
        raise Http404("There is no such match.") from None


def is_seated(request: HttpRequest, sitting: Sitting) -> bool:
    """Return whether a request comes from the person who plays."""
    if isinstance(request.user, User) and request.user.pk == sitting.user_id:
        return True
    # A visitor may have logged in since.
    return sitting.public_id in sittings_known(request)


def sittings_known(request: HttpRequest) -> list[UUID]:
    """Return the sittings that a visitor's browser has begun."""
    return [UUID(name) for name in request.session.get(SEATED, [])]


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
        picture=picture_address(svg),
        size=picture_size(svg),
        text=seen.text,
        moves=_sentences(seen, sitting_names(sitting, is_own=seated), sitting.seats),
        offer=offer_of(seen.choices, request.GET.get("first", ""), str(sitting.submission)),
        is_seated=seated,
        is_persons_turn=seen.is_turn,
        is_over=state.is_over,
        is_simultaneous=len(state.to_move) > 1,
        is_hidden=seen.is_hidden,
        can_take_back=seen.is_turn and len(state.to_move) == 1 and any(_moved(state.steps, sitting.persons_seat)),
        has_solver=bool(seen.spec.solver) and seen.is_turn and not seen.is_hidden,
        waited_seconds=waited,
        wait=None if seen.is_turn or waited < WAIT_SECONDS else wait_of(sitting),
    )


def result_shared(sitting: Sitting, record: MatchRecord) -> dict[str, object]:
    """Return how a finished sitting is shared: as others see it."""
    page, card = (reverse(f"web:{name}", args=[sitting.public_id]) for name in ("sitting", "sitting_card"))
    moves = len(record.actions) - record.opening_count
    helped = " The person took moves back or was shown hints." if sitting.is_helped else ""
    said = f"{sitting.environment.name}: {ending(record, sitting_names(sitting))} after {moves} moves.{helped}"
    tags = preview_tags(str(sitting), said, page, card)
    return {"sharing": Sharing(page, "", "", tags), "sharing_said": said, "card": card, "address": absolute(page)}


def hint_sentence(seen: Seen, solution: Solution | None) -> str:
    """Return what perfect play would do in the position of a person."""
    if solution is None:
        return "No hint yet: the solver does not see the end from here. Ask again a few moves later."
    moves = " or ".join(choice.name for choice in seen.choices if choice.action in solution.best[:HINTS])
    if solution.value > 0:
        return f"You can win in {solution.plies} move{'s' * (solution.plies != 1)} of both sides: {moves}."
    return f"With perfect play this is {'lost' if solution.value else 'a draw'}. Best: {moves}."


def _moved(steps: Sequence[Sequence[tuple[int, int]]], seat: int) -> Iterator[bool]:
    return (moves[0][0] == seat for moves in steps)


def _sentences(seen: Seen, names: Names, seats: tuple[int, ...]) -> tuple[tuple[int, str], ...]:
    """Return (player, sentence) of each step, the last one first, in the words of recorded matches."""
    lines = [
        (seats[moves[0].seat], in_one_sentence(f"{names[seats[move.seat]]} played {move.words}" for move in moves))
        for moves in seen.moves
    ]
    return tuple(reversed(lines))
