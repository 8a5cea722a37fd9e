"""Pictures of running matches: the render modes of learning libraries, and what notebooks show of an environment."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from arena_kit.environment.adapters.gymnasium import GymnasiumEnvironment, render_modes
from arena_kit.environment.protocol import ArenaEnvironmentError, MissingExtra
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import parts_needed
from arena_kit.html import picture

if TYPE_CHECKING:
    from arena_kit.environment.adapters.exports.seated_match import SeatedMatch

RENDER_MODES = ("ansi", "svg", "rgb_array")


class Drawn:
    """The base of both kinds of exports: `render()`, and the picture of their match in a notebook."""

    _table: SeatedMatch

    def render(self) -> Any:
        """Return the match in the form that `render_mode` names; None without one.

        `ansi`: text. `svg`: a picture as SVG text. `rgb_array`: an array of uint8, height x width x 3. Raises
        MissingExtra where `rgb_array` needs a package, and BrokenEnvironment if the environment cannot be drawn.
        """
        return self._table.render()

    def _repr_html_(self) -> str | None:
        # A notebook shows an object that cannot be drawn as it shows any other.
        with contextlib.suppress(ArenaEnvironmentError):
            if (drawn := self._table.picture()) is not None:
                return picture(drawn, self._table.text())
        return None


def check_render_mode(mode: str | None) -> None:
    """Raise ValueError for a render mode that there is not."""
    if mode not in {None, *RENDER_MODES}:
        raise ValueError(f"There is no render mode {mode!r}; there are {', '.join(map(repr, RENDER_MODES))}.")


def own_pictures(spec: EnvironmentSpec) -> GymnasiumEnvironment | None:
    """Return a task of Gymnasium that draws itself as arrays; None where it does not. Raises MissingExtra."""
    if spec.gymnasium is None or spec.runs_apart or "rgb_array" not in render_modes(spec.gymnasium.id):
        return None
    return GymnasiumEnvironment(spec, "rgb_array")


def colours(svg: str) -> Any:
    """Return an SVG as an array of uint8, height x width x 3, both even, as encoders of videos want them.

    Raises MissingExtra.
    """
    try:
        import resvg_py
        from PIL import Image
    except ModuleNotFoundError as error:
        hint = parts_needed("render")
        raise MissingExtra(f"Pictures as arrays need the package {error.name}: {hint}", hint=hint) from None
    # resvg knows no style that depends on a scheme, and shows the light one.
    png = resvg_py.svg_to_bytes(svg_string=svg, background="#ffffff", sans_serif_family="DejaVu Sans")
    with Image.open(io.BytesIO(bytes(png))) as image:
        pixels = np.array(image.convert("RGB"))
    return pixels[: pixels.shape[0] // 2 * 2, : pixels.shape[1] // 2 * 2]
