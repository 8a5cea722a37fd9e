"""Draws panels of lines: `draw.py FILE.png` with JSON on its standard input. Run by `plots`' own Python."""

from __future__ import annotations

import json
import math
import sys

from matplotlib.figure import Figure  # type: ignore[import-not-found]  # in its own Python only

COLUMNS = 3


def main(path: str) -> None:
    """Read panels (see `benchmarks.common.Panel`) and write a picture of the kind that the file's name says."""
    panels = json.load(sys.stdin)
    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    labels = list(dict.fromkeys(label for panel in panels for label in panel["lines"]))
    figure = Figure(figsize=(5.5 * columns, 4 * rows), layout="constrained")
    for place, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(rows, columns, place)
        for label, points in panel["lines"].items():
            axes.plot(
                [x for x, _ in points], [y for _, y in points], marker="o", label=label, color=f"C{labels.index(label)}"
            )
        ticks = sorted({x for points in panel["lines"].values() for x, _ in points})
        if panel["logarithmic"]:
            axes.set_xscale("log")
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set(title=panel["title"], xlabel=panel["x"], ylabel=panel["y"])
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1])
