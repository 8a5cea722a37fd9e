"""A match as far as it has been played: its state follows from the seed, the opening and the moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arena_kit.environment.openings import begin
from arena_kit.environment.protocol import Environment, Frame
from arena_kit.environment.spec import EnvironmentSpec

Moves = Mapping[tuple[int, int], int]
"""By step, counted from 0 after the opening, and seat: the action that was chosen."""


@dataclass(frozen=True, slots=True)
class SoFar:
    """The state after all steps for which every seat that acts has chosen a valid action.

    steps: (seat, action) of each move, step by step. waiting: the seats that still have to choose in the next step; a
    seat that moves at the same time and has chosen is not among them. valid: by seat of the next step, its valid
    actions. observations: by seat. frames: the frame before each step, by which a move has its words; empty for a game
    without words of its own.
    """

    steps: tuple[tuple[tuple[int, int], ...], ...]
    frame: Frame
    text: str
    to_move: tuple[int, ...]
    waiting: tuple[int, ...]
    valid: Mapping[int, Sequence[int]]
    observations: tuple[Sequence[float] | bytes, ...]
    frames: tuple[Frame, ...] = ()

    @property
    def is_over(self) -> bool:
        return not self.to_move


def so_far(spec: EnvironmentSpec, *, seed: int, opening: Sequence[int], moves: Moves) -> SoFar:
    """Play a match as far as its moves go. A move that is not valid counts as not made.

    Raises what the rules raise for an opening that does not fit them.
    """
    environment = spec.make()
    begin(environment, seed, tuple(opening))
    steps: list[tuple[tuple[int, int], ...]] = []
    frames: list[Frame] = []
    while True:
        valid = {seat: environment.observe(seat).valid_actions for seat in environment.to_move}
        chosen = _chosen(valid, moves, len(steps))
        if not valid or len(chosen) < len(valid):
            waiting = tuple(seat for seat in valid if seat not in chosen)
            return _state(spec, environment, tuple(steps), tuple(frames), valid, waiting)
        if spec.move_words:
            frames.append(environment.frame())
        environment.step(chosen)
        steps.append(tuple(chosen.items()))


def _chosen(valid: Mapping[int, Sequence[int]], moves: Moves, step: int) -> dict[int, int]:
    """Return the valid actions that were chosen in a step, by seat."""
    found = {seat: moves.get((step, seat)) for seat in valid}
    return {seat: action for seat, action in found.items() if action is not None and action in valid[seat]}


def _state(
    spec: EnvironmentSpec,
    environment: Environment,
    steps: tuple[tuple[tuple[int, int], ...], ...],
    frames: tuple[Frame, ...],
    valid: Mapping[int, Sequence[int]],
    waiting: tuple[int, ...],
) -> SoFar:
    return SoFar(
        steps=steps,
        frame=environment.frame(),
        text=environment.text(),
        to_move=environment.to_move,
        waiting=waiting,
        valid=valid,
        observations=tuple(environment.observe(seat).observation for seat in range(spec.seats)),
        frames=frames,
    )
