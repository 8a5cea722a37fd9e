"""A rollout as a worker leaves it: a log of steps, pages, pictures of 1280 by 720 and a video, with hostile words."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from typing import Any

import av
import numpy
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from PIL import Image

from core.models import Batch, Rollout, User
from core.tests import applications

HOSTILE = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"
PAGE = (
    '- generic [active] [ref=e1] [box=0,0,1280,720]:\n  - textbox "Search" [ref=e4] [box=420,90,320,44]\n'
    '  - link "Blue lamp" [ref=e5] [cursor=pointer] [box=120,240,200,36]\n'
    f'  - text: "{HOSTILE}"\n'
)
SHA = "ab" * 32
DEEDS: tuple[dict[str, Any], ...] = (
    {"action": "fill", "ref": "e4", "text": "blue lamp"},
    {"action": "press", "keys": "Enter"},
    {"action": "click", "ref": "e5"},
    {"action": "click", "x": 640, "y": 360},
    {"action": "scroll", "dx": 0, "dy": 400},
    {"action": "answer", "value": {"price": 42}},
)


def steps(count: int = 6) -> list[dict[str, Any]]:
    """Steps of an agent that goes through DEEDS again and again."""
    return [
        {
            "number": number + 1, "at_ms": 400 * (number + 1), "action": DEEDS[number % len(DEEDS)],
            "note": HOSTILE if number == 2 else "Now I look for the lamp.", "error": HOSTILE if number == 3 else "",
            "url": "http://web:8000/?q=" + "lamp" * 30, "title": "Shop " + HOSTILE, "snapshot_sha256": SHA,
            "picture": f"{number + 1:04}.png", "agent_ms": 120, "act_ms": 60, "tokens": 900 * (number + 1),
            "cost_micros": 210 * (number + 1), "requests": [number, number + 2], "target": {},
        }
        for number in range(count)
    ]  # fmt: skip


def recorded(rollout: Rollout, outcome: str = "SOLVED", *, count: int = 6, cost: int = 1260) -> Rollout:
    """Finish a rollout with all its files."""
    log = gzip.compress("\n".join(json.dumps(step) for step in steps(count)).encode())
    kept = {"steps": ("steps.jsonl.gz", log), "pages": ("pages.zip", _pages(count)), "video": ("video.webm", _video())}
    names = {
        field: default_storage.save(f"rollouts/{rollout.pk}/{name}", ContentFile(data))
        for field, (name, data) in kept.items()
    }
    return applications.finished(rollout, outcome, cost=cost, **names)


def worked(owner: User) -> list[Batch]:
    """Two batches at the application desk, over and at work."""
    environment = applications.package().environment
    first = applications.batch(owner, environment, "count", "rank", "open", attempts=3)
    for rollout in first.rollouts.order_by("pk"):
        outcomes = ("SOLVED", "PARTIAL", "NOT_SOLVED") if rollout.task.is_judged else ("UNJUDGED",) * 3
        recorded(rollout, outcomes[rollout.attempt_number - 1])
    second = applications.batch(owner, environment, "count", "rank", attempts=2)
    recorded(second.rollouts.order_by("pk")[0], count=120)
    applications.running(second.rollouts.order_by("pk")[1])
    return [first, second]


def _pages(count: int) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(f"{SHA}.txt", PAGE)
        for number in range(count):
            picture = io.BytesIO()
            Image.fromarray(_frame(number)).save(picture, "PNG")
            archive.writestr(f"{number + 1:04}.png", picture.getvalue())
    return data.getvalue()


def _video() -> bytes:
    data = io.BytesIO()
    with av.open(data, "w", format="webm") as container:
        stream = container.add_stream("libvpx-vp9", rate=5, options={"deadline": "realtime", "cpu-used": "8"})
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        for number in range(12):
            frame = av.VideoFrame.from_ndarray(_frame(number)[::4, ::4].copy(), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return data.getvalue()


def _frame(number: int) -> Any:
    """A picture with what looks like a page: a bar, a field and a link, and a block that moves."""
    frame = numpy.full((720, 1280, 3), 250, dtype=numpy.uint8)
    frame[:60] = (40, 60, 110)
    frame[90:134, 420:740] = (225, 230, 240)
    frame[240:276, 120:320] = (150, 180, 250)
    frame[400:520, 60 * (number % 18) : 60 * (number % 18) + 120] = (240, 150, 90)
    return frame
