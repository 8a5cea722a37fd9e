"""Draws panels of lines: `draw.py FILE.png` with JSON on standard input. Runs in the Python of `plots`."""

from __future__ import annotations

import json
import math
import sys

from matplotlib.figure import Figure  # type: ignore[import-not-found]  # installed only in its own Python
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator  # type: ignore[import-not-found]

COLUMNS = 3


def main(path: str) -> None:
    """Read panels (see `benchmarks.common.Panel`) and write a picture; the file name decides its format."""
    panels = json.load(sys.stdin)
    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    labels = list(dict.fromkeys(label for panel in panels for label in (*panel["lines"], *panel["levels"])))
    figure = Figure(figsize=(5.5 * columns, 4 * rows), layout="constrained")
    plain = FuncFormatter(lambda value, _: f"{value:,g}" if value < 10_000 else f"{value:,.0f}")
    for place, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(rows, columns, place)
        for label, points in panel["lines"].items():
            axes.plot(
                [x for x, _ in points], [y for _, y in points], marker="o", label=label, color=f"C{labels.index(label)}"
            )
        for label, level in panel["levels"].items():
            # Offset dashes, so that two close lines are both visible.
            dashes = (labels.index(label) * 3, (3, 3))
            axes.axhline(level, label=label, color=f"C{labels.index(label)}", linestyle=dashes)
        axes.margins(y=0.1)
        ticks = sorted({x for points in panel["lines"].values() for x, _ in points})
        if panel["logarithmic"]:
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        else:
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_locator(MaxNLocator(6))
        axes.yaxis.set_major_formatter(plain)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set(title=panel["title"], xlabel=panel["x"], ylabel=panel["y"])
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1])
