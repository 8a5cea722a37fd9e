"""Pictures that people upload: read in a process apart, and drawn anew, so that nothing else of a file is kept."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import BinaryIO

from arena_kit.errors import Refused
from core.files.apart import TookTooMuch, limits, run_apart

FORMATS = ("PNG", "JPEG", "WEBP")
MOST_BYTES = 10 << 20
MOST_PIXELS = 25_000_000
"""A file that says that it has more is not read any further."""
SIZE = (1600, 1200)
"""The most width and height in pixels of what is kept."""
PROCESSOR_SECONDS = 10
NOT_READ = "The picture cannot be read. Take another PNG, JPEG or WebP."
NO_PICTURE = "This is no PNG, JPEG or WebP."
TOO_MANY = f"The picture has more than {MOST_PIXELS // 10**6} million pixels. Make it smaller."
MOVES = "The picture moves. Take one that stands still."
REFUSALS = {b"none": NO_PICTURE, b"pixels": TOO_MANY, b"moves": MOVES}
"""The sentences for what the process writes instead of a picture."""


def picture_cleaned(file: BinaryIO, size: int) -> bytes:
    """Return a picture as WebP of at most SIZE: upright, and without what the file has beside its pixels, such as the
    place where it was taken. size: of the file, in bytes. Raises Refused."""
    if size > MOST_BYTES:
        raise Refused(f"The picture has more than {MOST_BYTES >> 20} MiB. Make it smaller.", field="picture")
    file.seek(0)
    try:
        drawn = run_apart(__name__, file.read(MOST_BYTES))
    except TookTooMuch:
        raise Refused(NOT_READ, field="picture") from None
    if sentence := REFUSALS.get(drawn):
        raise Refused(sentence, field="picture")
    return drawn


def size_of(picture: bytes) -> str:
    """Return the width and height of a picture that `picture_cleaned` has returned, such as 1600x900."""
    from PIL import Image

    return "{}x{}".format(*Image.open(BytesIO(picture)).size)


def _redrawn(data: bytes) -> bytes:
    """Return a picture as WebP, or a key of REFUSALS."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    # Pillow warns above this, and raises an error above its double; neither is wanted before the size is looked at.
    Image.MAX_IMAGE_PIXELS = None
    try:
        # By its first bytes, whatever its name says. This reads the head alone.
        picture = Image.open(BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError:
        return b"none"
    if picture.width * picture.height > MOST_PIXELS:
        return b"pixels"
    # Cameras write a small preview behind a JPEG; Pillow calls such a file MPO, and the first is the picture.
    if getattr(picture, "is_animated", False) and picture.format != "MPO":
        return b"moves"
    # JPEG is read at a fraction of its size where that suffices.
    picture.draft(None, SIZE)
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    upright: Image.Image = ImageOps.exif_transpose(picture)
    if upright.mode.startswith("I"):
        # Grey of 16 bits, which Pillow cuts off at 255 instead of scaling it.
        upright = upright.point(lambda value: value / 257, "F").convert("L")
    upright = upright.convert(mode)
    upright.thumbnail(SIZE)
    # Onto a new one, as the old one carries metadata along.
    clean, drawn = Image.new(mode, upright.size), BytesIO()
    clean.paste(upright)
    clean.save(drawn, "WEBP", quality=82)
    return drawn.getvalue()


if __name__ == "__main__":
    limits(PROCESSOR_SECONDS)
    sys.stdout.buffer.write(_redrawn(sys.stdin.buffer.read()))
