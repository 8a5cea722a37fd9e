"""Draws SVG as PNG in a short-lived process under limits: a part of the picture comes from an environment's own code.

Drawing holds Python's lock from beginning to end, and a filter of one line takes minutes, in which no other thread of a
web process could answer. `rasterised` runs this module with `python -m`; all it imports of the arena is the list of
fonts and what limits a process.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import BoundedSemaphore

from arena_kit.machine.processes import limit
from web.cards.fonts import fonts_for

ROOT = Path(__file__).resolve().parents[2]
PROCESSOR_SECONDS = 2
"""A picture of a shipped environment takes less than a tenth of this."""
WALL_SECONDS = 20.0
MEMORY_BYTES = 1 << 30
TURNS = BoundedSemaphore(2)
"""How many pictures this web process has drawn at once."""


class NotDrawn(Exception):
    """A picture is not SVG or takes too much time or memory, or the machine is too busy."""


def rasterised(svg: str) -> bytes:
    """Return a picture as PNG. Raises NotDrawn."""
    if not TURNS.acquire(timeout=WALL_SECONDS):
        raise NotDrawn
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-s", "-m", __name__, *map(str, fonts_for(svg))],
            input=svg.encode("utf-8", "replace"),
            capture_output=True,
            timeout=WALL_SECONDS,
            check=True,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)},
        )
    except (OSError, subprocess.SubprocessError):
        raise NotDrawn from None
    finally:
        TURNS.release()
    return done.stdout


def _main() -> None:
    """Read an SVG from standard input and write it to standard output as PNG; the arguments are font files."""
    for name, most in {"CPU": PROCESSOR_SECONDS, "AS": MEMORY_BYTES, "FSIZE": 0, "CORE": 0}.items():
        limit(name, most)
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
