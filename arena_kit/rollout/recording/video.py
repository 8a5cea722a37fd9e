"""Makes a video of the pictures that a browser has sent: VP9, each shown until the next one came.

The pictures may be a hostile page's work, so they are decoded in a process of their own with limits:
`python -m arena_kit.rollout.recording.video FRAMES TARGET`.
"""

from __future__ import annotations

import io
import os
import resource
import struct
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import IO

_HEAD = struct.Struct("<QI")
MOST_FRAME_BYTES = 4 << 20
SECONDS, MEMORY_BYTES, MOST_VIDEO_BYTES = 300, 4 << 30, 128 << 20
LAST_MS = 1_000
"""How long the last picture is shown."""
ENCODING: dict[str, object] = {
    "deadline": "realtime",
    "cpu-used": "8",
    "crf": "38",
    "b": "0",
    "lag-in-frames": "0",
    "threads": "1",
}


def frame_bytes(at_ms: int, jpeg: bytes) -> bytes:
    """Return a picture as it stands in the file of all of them. at_ms: since 1970."""
    return _HEAD.pack(max(0, at_ms), len(jpeg)) + jpeg


def frames_in(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield times and pictures of a file; one that is cut off ends it."""
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        at, length = _HEAD.unpack(head)
        if length > MOST_FRAME_BYTES or len(jpeg := file.read(length)) < length:
            return
        yield at, jpeg


def video_encode(frames: Path, target: Path) -> bool:
    """Make the video in a process with limits; return whether there is one. Without PyAV there is none."""
    # The process has a working directory of its own.
    paths = (str(path.absolute()) for path in (frames, target))
    command = [sys.executable, "-m", "arena_kit.rollout.recording.video", *paths]
    environment = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, env=environment, cwd=Path(__file__).parents[3], stdin=subprocess.DEVNULL, capture_output=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode:
        target.unlink(missing_ok=True)
    return target.is_file()


def encode(frames: Path, target: Path) -> int:
    """Write the video; return the number of its pictures."""
    import av

    count, first, last = 0, 0, -1
    with frames.open("rb") as file, av.open(str(target), "w", format="webm") as container:
        stream = container.add_stream("libvpx-vp9", rate=10)
        stream.pix_fmt, stream.options = "yuv420p", ENCODING
        stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        for at, jpeg in frames_in(file):
            first = first or at
            # A picture at the time of the one before would not be shown at all.
            shown_at = max(at - first, last + 1)
            with av.open(io.BytesIO(jpeg), "r", format="mjpeg") as one:
                picture = next(one.decode(video=0))
            if not count:
                stream.width, stream.height = picture.width // 2 * 2, picture.height // 2 * 2
            frame = picture.reformat(stream.width, stream.height, "yuv420p")
            frame.pts, frame.time_base = shown_at, Fraction(1, 1000)
            container.mux(stream.encode(frame))
            count, last = count + 1, shown_at
        if count:
            frame.pts = last + LAST_MS
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return count


def main() -> None:
    """Limit this process, and write a video."""
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_VIDEO_BYTES, MOST_VIDEO_BYTES))
    sys.exit(0 if encode(Path(sys.argv[1]), Path(sys.argv[2])) else 1)


if __name__ == "__main__":
    main()
