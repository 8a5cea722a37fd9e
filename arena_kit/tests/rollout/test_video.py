"""The video of a rollout, made from the pictures that its browser sent."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from arena_kit.rollout.recording.video import frame_bytes, video_encode

pytest.importorskip("av", reason="videos need PyAV")


def jpeg(shade: int) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (64, 36), (shade, shade, shade)).save(data, "JPEG")
    return data.getvalue()


def test_a_video_is_made_wherever_the_command_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = b"".join(frame_bytes(at, jpeg(shade)) for at, shade in ((0, 0), (400, 120), (900, 250)))
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "frames").write_bytes(frames)
    monkeypatch.chdir(tmp_path)
    assert video_encode(Path("kept/frames"), Path("kept/video.webm"))
    assert (tmp_path / "kept" / "video.webm").read_bytes()[:4] == b"\x1aE\xdf\xa3"


def test_pictures_that_are_none_leave_no_video(tmp_path: Path) -> None:
    (tmp_path / "frames").write_bytes(frame_bytes(0, b"not a picture"))
    assert not video_encode(tmp_path / "frames", tmp_path / "video.webm")
    assert not (tmp_path / "video.webm").exists()
