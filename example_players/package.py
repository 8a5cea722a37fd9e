"""Pack example players: `python -m example_players.package [NAME ...] --output FOLDER`."""

from __future__ import annotations

import argparse
import io
import zipfile
from pathlib import Path

FOLDER = Path(__file__).parent
_EPOCH = (1980, 1, 1, 0, 0, 0)


def names() -> list[str]:
    """The example players, by folder."""
    return sorted(path.parent.name for path in FOLDER.glob("*/player.py"))


def make_archive(name: str) -> bytes:
    """The zip of an example player; the same bytes every time. Raises LookupError for an unknown name."""
    if name not in names():
        raise LookupError(f"There is no example player {name!r}. There are: {', '.join(names())}.")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((FOLDER / name).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                entry = zipfile.ZipInfo(path.relative_to(FOLDER / name).as_posix(), _EPOCH)
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description="Pack example players as archives for upload.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names())}; default: all")
    parser.add_argument("--output", type=Path, default=Path(), help="folder for the zips")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.names or names():
        try:
            archive = make_archive(name)
        except LookupError as error:
            parser.error(str(error))
        target = options.output / f"{name}.zip"
        target.write_bytes(archive)
        print(target)


if __name__ == "__main__":
    main()
