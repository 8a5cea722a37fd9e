"""Pictures of people are read apart and drawn anew; hostile ones are refused before they cost anything."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from core.errors import Refused
from core.files import apart, pictures
from core.files.pictures import MOST_BYTES, MOVES, NO_PICTURE, NOT_READ, SIZE, TOO_MANY, picture_cleaned

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def file_of(picture: Image.Image, kind: str, **more: Any) -> bytes:
    out = BytesIO()
    picture.save(out, kind, **more)
    return out.getvalue()


def cleaned(data: bytes) -> Image.Image:
    found = Image.open(BytesIO(picture_cleaned(BytesIO(data), len(data))))
    found.load()
    return found


def refusal(data: bytes) -> str:
    with pytest.raises(Refused) as refused:
        picture_cleaned(BytesIO(data), len(data))
    assert refused.value.field == "picture"
    return str(refused.value)


def claims(width: int, height: int) -> bytes:
    """A PNG of a few bytes that says how large it is."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_the_place_where_a_picture_was_taken_is_left_out_and_it_stands_upright(kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # Turned by a quarter.
    exif[0x010E] = "secret words"
    exif.get_ifd(0x8825)[1] = "N"
    picture = Image.new("RGB", (80, 40), "red")
    picture.paste("blue", (0, 0, 40, 40))
    data = file_of(picture, kind, exif=exif, icc_profile=b"secret profile") + b"secret tail"
    assert b"secret words" in data
    found = cleaned(data)
    assert (found.format, found.size, dict(found.getexif())) == ("WEBP", (40, 80), {})
    assert not {"exif", "icc_profile", "xmp"} & set(found.info)
    top, bottom = (found.convert("RGB").getpixel((20, row)) for row in (10, 70))
    assert isinstance(top, tuple)
    assert isinstance(bottom, tuple)
    assert (top[2] > 200, bottom[0] > 200) == (True, True)
    assert b"secret" not in picture_cleaned(BytesIO(data), len(data))


def test_a_large_picture_gets_smaller_and_one_that_is_clear_stays_clear() -> None:
    found = cleaned(file_of(Image.new("RGBA", (4000, 1000), (255, 0, 0, 0)), "PNG"))
    assert (found.size, found.mode) == ((1600, 400), "RGBA")
    assert found.getpixel((0, 0))[3] == 0  # type: ignore[index]  # of four channels
    assert cleaned(file_of(Image.new("P", (20, 10)), "PNG")).size == (20, 10)
    assert cleaned(file_of(Image.new("CMYK", (2000, 4000)), "JPEG")).size == (600, SIZE[1])


@pytest.mark.parametrize("more", [{}, {"transparency": 30_000}], ids=["plain", "one clear shade"])
def test_grey_of_sixteen_bits_keeps_its_shades(more: dict[str, int]) -> None:
    picture = Image.new("I;16", (60, 20), 32_896)
    picture.paste(65_535, (0, 0, 20, 20))
    picture.paste(8_224, (40, 0, 60, 20))
    found = cleaned(file_of(picture, "PNG", **more)).convert("L")
    for place, shade in ((10, 255), (30, 128), (50, 32)):
        assert found.getpixel((place, 10)) == pytest.approx(shade, abs=3)


def test_what_is_no_picture_is_refused_whatever_it_is_called() -> None:
    assert refusal(b"") == NO_PICTURE
    assert refusal(SVG) == NO_PICTURE
    assert refusal(b"GIF89a" + bytes(100)) == NO_PICTURE
    for kind in ("GIF", "BMP", "TIFF", "ICO", "PPM"):
        assert refusal(file_of(Image.new("RGB", (16, 16)), kind)) == NO_PICTURE
    whole = file_of(Image.effect_noise((64, 64), 50), "PNG")
    assert refusal(whole[:200]) == NOT_READ
    # The first bytes of a PNG, and a page behind them.
    assert refusal(whole[:8] + SVG) in (NO_PICTURE, NOT_READ)


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_a_picture_that_moves_is_refused(kind: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    assert refusal(file_of(frames[0], kind, save_all=True, append_images=frames[1:])) == MOVES


def test_the_preview_that_a_camera_writes_behind_a_picture_is_left_out() -> None:
    frames = [Image.new("RGB", size, "red") for size in ((64, 32), (8, 8))]
    assert cleaned(file_of(frames[0], "MPO", save_all=True, append_images=frames[1:])).size == (64, 32)


def test_a_bomb_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(claims(50_000, 50_000)) == TOO_MANY
    assert refusal(claims(2**31 - 1, 2**31 - 1)) in (TOO_MANY, NO_PICTURE)
    # As many pixels as are allowed, which are not there.
    assert refusal(claims(5000, 5000)) == NOT_READ
    monkeypatch.setattr(pictures, "run_apart", lambda *_: pytest.fail("It was read."))
    with pytest.raises(Refused, match="10 MiB"):
        picture_cleaned(BytesIO(), MOST_BYTES + 1)


def test_what_takes_too_much_is_ended_by_the_machine(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "greedy.py").write_text(
        "import sys\nfrom core.files.apart import limits\nlimits(1)\n"
        "exec({'time': 'while True: pass', 'memory': 'bytes(2 << 30)',"
        " 'none': 'print(1)'}[sys.argv[1]])\n"
    )
    (tmp_path / "core").symlink_to(apart.ROOT / "core")
    (tmp_path / "arena_kit").symlink_to(apart.ROOT / "arena_kit")
    monkeypatch.setattr(apart, "ROOT", tmp_path)
    assert apart.run_apart("greedy", b"", "none") == b"1\n"
    for what in ("time", "memory"):
        with pytest.raises(apart.TookTooMuch):
            apart.run_apart("greedy", b"", what)
