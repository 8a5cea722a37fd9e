"""Writes what is kept of a rollout into a folder, step by step, so that it can be followed while it goes on."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from arena_kit.rollout.browser.observation import PageObservation, Seen
from arena_kit.rollout.exports.requests import address_of
from arena_kit.rollout.recording.har import har_bytes
from arena_kit.rollout.recording.steps import Step, snapshot_sha256
from arena_kit.rollout.recording.video import frame_bytes, video_encode

STEPS, PAGES, HAR, TRACE, VIDEO = "steps.jsonl.gz", "pages.zip", "network.har", "trace.zip", "video.webm"
BROWSER_HAR = "browser.har"
"""The file of the browser's own account; network.har is the account of the arena's proxy."""
RUNNING = "steps.jsonl"
"""Has the steps while the rollout goes on."""
_FRAMES = "frames"
MOST_PAGES_BYTES, MOST_FRAMES_BYTES = 256 << 20, 256 << 20
MOST_REQUESTS, MOST_REQUEST_BYTES = 50_000, 32 << 20


class Recorder:
    """Keeps one rollout. What would be too much is left out, and counted in `left_out`."""

    def __init__(self, folder: Path) -> None:
        """folder: an empty one that only this rollout writes to."""
        self.folder = folder
        self.left_out = 0
        self._steps: IO[str] = (folder / RUNNING).open("w", encoding="utf-8")
        self._pages = zipfile.ZipFile(folder / PAGES, "w", zipfile.ZIP_DEFLATED)
        self._frames: IO[bytes] = (folder / _FRAMES).open("wb")
        self._known: set[str] = set()
        self._pages_bytes = self._frames_bytes = self._request_bytes = self._lost = 0
        self._requests: list[Mapping[str, Any]] = []
        self._is_closed = False

    def begin(self, seen: Seen, at_ms: int) -> tuple[int, ...]:
        """Keep what there is to see when the agent begins; as `seen`. at_ms: since 1970, where the video begins.

        Pictures from before, such as those of the login, are left out but for the last one.
        """
        frames = tuple((max(at, at_ms), data) for at, data in seen.frames[-1:])
        return self.seen(replace(seen, frames=frames))

    def seen(self, seen: Seen) -> tuple[int, ...]:
        """Keep requests and pictures for the video; return the numbers of the first and the last request, if any."""
        for at, data in seen.frames:
            if self._frames_bytes + len(data) > MOST_FRAMES_BYTES:
                self.left_out += 1
                continue
            self._frames_bytes += self._frames.write(frame_bytes(at, data))
        self._lost += seen.requests_lost
        for request in seen.requests:
            self._request_bytes += len(str(request))
            if len(self._requests) < MOST_REQUESTS and self._request_bytes <= MOST_REQUEST_BYTES:
                self._requests.append(request)
            else:
                self._lost += 1
        if seen.trace is not None:
            (self.folder / TRACE).write_bytes(seen.trace)
        numbers = [each.get("number") for each in seen.requests]
        known = [number for number in numbers if isinstance(number, int)]
        return (min(known), max(known)) if known else ()

    def page(self, observation: PageObservation, number: int) -> tuple[str, str]:
        """Keep what an agent saw before a step; return the names of snapshot and picture, empty without."""
        sha256 = snapshot_sha256(observation.snapshot)
        if sha256 and sha256 not in self._known:
            self._known.add(sha256)
            self._keep(f"{sha256}.txt", observation.snapshot.encode())
        picture = f"{number:04}.png" if observation.picture else ""
        if observation.picture and not self._keep(picture, observation.picture):
            picture = ""
        return sha256, picture

    def step(self, step: Step) -> None:
        """Keep a step."""
        self._steps.write(json.dumps(step.as_json()) + "\n")
        self._steps.flush()

    def har(self) -> bytes:
        """Return the network log so far. Raises PlatformFault."""
        return har_bytes(self._requests, lost=self._lost)

    def outside(self, origins: Collection[str]) -> list[Mapping[str, Any]]:
        """Return the requests so far that went to none of these origins, as far as the browser reports them."""
        return [each for each in self._requests if address_of(str(each.get("url"))).origin not in origins]

    def har_write(self, har: bytes, name: str = HAR) -> None:
        """Keep the network log."""
        (self.folder / name).write_bytes(har)

    def close(self, *, video: bool = True) -> Sequence[str]:
        """Finish the files; return their names. video: whether to make one, which takes time. May be called twice."""
        if not self._is_closed:
            self._is_closed = True
            for file in (self._steps, self._pages, self._frames):
                file.close()
            with (self.folder / RUNNING).open("rb") as plain, gzip.open(self.folder / STEPS, "wb") as packed:
                shutil.copyfileobj(plain, packed)
            (self.folder / RUNNING).unlink()
            if video and self._frames_bytes:
                video_encode(self.folder / _FRAMES, self.folder / VIDEO)
            (self.folder / _FRAMES).unlink()
        return sorted(path.name for path in self.folder.iterdir())

    def _keep(self, name: str, content: bytes) -> bool:
        if self._pages_bytes + len(content) > MOST_PAGES_BYTES:
            self.left_out += 1
            return False
        self._pages_bytes += len(content)
        self._pages.writestr(name, content)
        return True
