"""Draws SVG as PNG in a process apart: a part of the picture comes from an environment's own code.

A filter of one line takes minutes. `rasterised` runs this module with `python -m`; all it imports of the arena is the
list of fonts and what limits a process.
"""

from __future__ import annotations

import sys

from core.files.apart import TookTooMuch, limits, run_apart
from web.cards.fonts import fonts_for

PROCESSOR_SECONDS = 2
"""A picture of a shipped environment takes less than a tenth of this."""


class NotDrawn(Exception):
    """A picture is not SVG or takes too much time or memory, or the machine is too busy."""


def rasterised(svg: str) -> bytes:
    """Return a picture as PNG. Raises NotDrawn."""
    try:
        return run_apart(__name__, svg.encode("utf-8", "replace"), *map(str, fonts_for(svg)))
    except TookTooMuch:
        raise NotDrawn from None


def _main() -> None:
    """Read an SVG from standard input and write it to standard output as PNG; the arguments are font files."""
    limits(PROCESSOR_SECONDS)
    import resvg_py

    fonts = sys.argv[1:]
    png = resvg_py.svg_to_bytes(
        svg_string=sys.stdin.buffer.read().decode(),
        skip_system_fonts=bool(fonts),
        font_files=fonts,
        sans_serif_family="DejaVu Sans",
        font_family="DejaVu Sans",
        monospace_family="DejaVu Sans Mono",
    )
    sys.stdout.buffer.write(bytes(png))


if __name__ == "__main__":
    _main()
