"""Draws an episode into a video and a still picture, within bounds of frames, bytes and time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from arena_kit.environment.adapters.gymnasium import GymnasiumEnvironment

STILL_WIDTH = 320
FRAMES_PER_SECOND = 30
"""A video has at most this many frames per second; that of a faster environment keeps its speed and leaves out
frames."""
ENCODING: dict[str, object] = {
    "crf": "36",
    "b": "0",
    "deadline": "realtime",
    "cpu-used": "7",
    "lag-in-frames": "0",
    "threads": "1",
}
"""Options of the VP9 encoder: constant quality, fast, one thread, and no delay of frames, so that the size is known
while the video grows."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a recording. To keep within it, a long or slow episode shows only every second frame, or fewer."""

    frames: int = 600
    width: int = 640
    """Pixels; larger pictures are scaled down."""
    video_bytes: int = 8 << 20
    seconds: float = 60.0
    """Wall time of drawing and encoding. A video that would still exceed it, or `video_bytes`, ends early."""


def encode(
    environment: GymnasiumEnvironment,
    steps: Iterable[object],
    *,
    last: int,
    bounds: Bounds,
    affordable: int,
    video: Path,
    still: Path,
) -> dict[str, Any]:
    """Draw an episode into a video and a still picture; return what a page needs to know about the video.

    steps: brings the environment from one state to the next. last: the number of the last state. affordable: the
    number of pictures that can be drawn in half of `bounds.seconds`.
    """
    import av

    own_fps = environment.frames_per_second
    most = max(2, min(bounds.frames, affordable))
    # One frame is kept for the last state.
    stride = max(1, math.ceil(last / (most - 1)), math.ceil(own_fps / FRAMES_PER_SECOND))
    fps = Fraction(own_fps / stride).limit_denominator(1000)
    until, size, frames, cut = time.monotonic() + bounds.seconds, 0, 0, False
    with av.open(str(video), "w", format="webm") as container:
        stream = container.add_stream("libvpx-vp9", rate=fps)
        stream.pix_fmt = "yuv420p"
        stream.options = ENCODING
        for number, _ in enumerate(steps):
            if number % stride and number != last:
                continue
            if cut := frames > 0 and (size > bounds.video_bytes or time.monotonic() > until):
                break
            frame = av.VideoFrame.from_ndarray(picture(environment), "rgb24")
            if not frames:
                stream.width, stream.height = _fitted(frame.width, frame.height, bounds.width)
            if number <= last // 2:
                middle = frame
            for packet in stream.encode(frame.reformat(stream.width, stream.height, "yuv420p")):
                size += packet.size
                container.mux(packet)
            frames += 1
        container.mux(stream.encode(None))
        shown = {"width": stream.width, "height": stream.height}
    _write_still(middle, still)
    return {"stride": stride, "fps": round(float(fps), 3), "frames": frames, "cut": cut, **shown}


def picture(environment: GymnasiumEnvironment) -> Any:
    """Return the picture of the present state: height, width and colours, as bytes."""
    import numpy as np

    return np.ascontiguousarray(environment.render(), np.uint8)


def _write_still(frame: Any, path: Path) -> None:
    import av

    with av.open(str(path), "w", format="webp") as container:
        stream = container.add_stream("libwebp", rate=1)
        stream.pix_fmt = "yuv420p"
        stream.width, stream.height = _fitted(frame.width, frame.height, STILL_WIDTH)
        container.mux(stream.encode(frame.reformat(stream.width, stream.height, "yuv420p")))
        container.mux(stream.encode(None))


def _fitted(width: int, height: int, most: int) -> tuple[int, int]:
    """Return the size scaled to a width of at most `most`, in even numbers, which the codec needs."""
    scale = min(1.0, most / width)
    return max(2, round(width * scale / 2) * 2), max(2, round(height * scale / 2) * 2)
