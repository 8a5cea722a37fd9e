"""Picture of a Nim frame."""

from __future__ import annotations

from arena_kit.environment.protocol import Frame
from arena_kit.environment.svg import svg


def frame_to_svg(frame: Frame) -> str:
    """The stones that are left, in a row."""
    parts = ['<rect class="board" width="440" height="80" rx="20"/>']
    parts += [f'<circle class="first" cx="{40 + 40 * stone}" cy="40" r="15"/>' for stone in range(frame["stones"])]
    return svg(440, 80, "Heap of stones", parts, description=f"{frame['stones']} stones are left.")
