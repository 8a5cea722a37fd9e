"""Draws a frame of Pong."""

from __future__ import annotations

from collections.abc import Sequence

from arena_kit.environment.choices import Choice, Part
from arena_kit.environment.protocol import Frame
from arena_kit.environment.svg import label, svg

WIDTH, HEIGHT = 480, 380
NET = 'stroke-width="3" stroke-dasharray="3 11" stroke-linecap="round" stroke="#8a94a6" opacity=".6"'
TAIL = 'stroke-width="7" stroke-linecap="round" opacity=".45"'
LEFT, TOP, ACROSS, DOWN = 40, 40, 400, 300
"""The court that the ball's centre moves in; the paddles stand outside of it, at both ends."""
BALL, PADDLE = 8, 12
SEATS = ("The first seat", "The second seat")
ACTIONS = (("Up", "ArrowUp"), ("Stay", "ArrowRight"), ("Down", "ArrowDown"))
"""By action: its name, and the key that chooses it."""


def frame_to_svg(frame: Frame) -> str:
    """Draw the court with net, points, paddles and ball; a short tail shows where the ball comes from, and a ring
    where the last one got past a paddle."""
    points = frame["points"]
    parts = [
        f'<rect class="board" width="{WIDTH}" height="{HEIGHT}" rx="20"/>',
        f'<rect class="cell" x="16" y="16" width="{WIDTH - 32}" height="{HEIGHT - 32}" rx="12"/>',
        f'<path d="M{WIDTH // 2} 28V{HEIGHT - 28}" {NET}/>',
        label(WIDTH / 2 - 60, 84, 52, str(points[0])),
        label(WIDTH / 2 + 60, 84, 52, str(points[1])),
    ]
    for seat, (place, colour) in enumerate(zip(frame["paddles"], ("first", "second"), strict=True)):
        x = LEFT - BALL - PADDLE if seat == 0 else LEFT + ACROSS + BALL
        y = TOP + DOWN * (place - 0.1)
        size = f'width="{PADDLE}" height="{DOWN * 0.2:.0f}" rx="{PADDLE // 2}"'
        parts.append(f'<rect class="{colour}" x="{x}" y="{y:.1f}" {size}/>')
    if frame["scorer"] is not None:
        x, y = (LEFT + ACROSS if frame["scorer"] == 0 else LEFT), TOP + DOWN * frame["missed"]
        parts.append(f'<circle class="mark" cx="{x}" cy="{y:.1f}" r="{BALL}" fill="none" stroke-width="4"/>')
    if not frame["over"]:
        parts += _ball(frame)
    return svg(WIDTH, HEIGHT, "Pong court", parts, description=_description(frame))


def _ball(frame: Frame) -> list[str]:
    (x, y), (across, down) = frame["ball"], frame["speed"]
    centre = LEFT + ACROSS * x, TOP + DOWN * y
    # Three steps back, but not beyond a wall or a paddle.
    tail = LEFT + ACROSS * min(1.0, max(0.0, x - 3 * across)), TOP + DOWN * min(1.0, max(0.0, y - 3 * down))
    return [
        f'<path class="mark" d="M{tail[0]:.1f} {tail[1]:.1f}L{centre[0]:.1f} {centre[1]:.1f}" {TAIL}/>',
        f'<circle class="ink" cx="{centre[0]:.1f}" cy="{centre[1]:.1f}" r="{BALL}"/>',
    ]


def _description(frame: Frame) -> str:
    first, second = frame["points"]
    if frame["over"]:
        end = "Draw" if frame["winner"] is None else f"{SEATS[frame['winner']]} has won"
        return f"{end}, {first} to {second}."
    scored = "" if frame["scorer"] is None else f" {SEATS[frame['scorer']]} has just scored."
    return f"{first} to {second} points.{scored}"


def actions_for_people(frame: Frame, valid_actions: Sequence[int]) -> list[Choice]:
    """Return the three ways to move a paddle, each a third of the picture from the top."""
    third = HEIGHT / 3
    return [
        Choice(action, (Part(str(action), *ACTIONS[action], (0, third * action, WIDTH, third), is_rest=action == 1),))
        for action in valid_actions
    ]
