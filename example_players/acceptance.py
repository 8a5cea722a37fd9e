"""Writes broken archives to test an arena with: `python -m example_players.acceptance FOLDER`.

Each holds a mistake that people make or a trick that they try. An arena must refuse the upload, or fail the submission
with the player at fault; it must never fail itself.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena_kit.examples import make_archive
from arena_kit.older import StrEnum
from arena_kit.zips import zip_bytes

FAILING_PLAYER = b'''"""Raises an exception in one of ten steps."""

from random import Random


class Player:
    def __init__(self, train_mode):
        self._random = Random()

    def start(self, state, valid_actions):
        return valid_actions[0]

    def step(self, state, valid_actions, prev_reward):
        if self._random.random() < 0.1:
            raise RuntimeError("This player fails in one of ten steps.")
        return valid_actions[0]

    def end(self, state, prev_reward):
        pass
'''


class Expected(StrEnum):
    """The verdict that an arena must give on an archive."""

    REFUSED = "the upload is refused"
    FAULT = "the submission fails, and the player is at fault"


@dataclass(frozen=True, slots=True)
class BrokenArchive:
    """A broken archive. name: of its file, without `.zip`. mistake: a sentence. make: returns the bytes."""

    name: str
    mistake: str
    expected: Expected
    make: Callable[[], bytes]


def player_fails() -> bytes:
    """Return the archive of a player that raises in 10 % of its steps."""
    return zip_bytes([("player.py", FAILING_PLAYER)])


def _with_player(name: str, content: bytes) -> Callable[[], bytes]:
    """Return a function that makes the archive of a good player with one more file."""
    return lambda: zip_bytes([("player.py", (Path(__file__).parent / "dummy/player.py").read_bytes()), (name, content)])


ARCHIVES = (
    BrokenArchive(
        "missing", "There is no player.py.", Expected.REFUSED, lambda: zip_bytes([("readme.txt", b"No player here.\n")])
    ),
    BrokenArchive(
        "in_folder",
        "The folder was packed, not its content.",
        Expected.REFUSED,
        lambda: zip_bytes([("my_player/player.py", FAILING_PLAYER)]),
    ),
    BrokenArchive("invalid_zip", "This is text, not a zip.", Expected.REFUSED, lambda: b"This is not a zip file.\n"),
    BrokenArchive(
        "cut_zip", "The second half is missing.", Expected.REFUSED, lambda: _first_half(make_archive("minimax"))
    ),
    BrokenArchive(
        "invalid_python",
        "player.py does not compile.",
        Expected.REFUSED,
        lambda: zip_bytes([("player.py", b"class Player\n    pass\n")]),
    ),
    BrokenArchive(
        "invalid_environment",
        "environment.yml is not YAML.",
        Expected.REFUSED,
        _with_player("environment.yml", b"name: [broken\ndependencies:\n  - numpy\n"),
    ),
    BrokenArchive(
        "invalid_requirements",
        "requirements.txt has a line that is not a requirement.",
        Expected.REFUSED,
        _with_player("requirements.txt", b"numpy ==== 1\n"),
    ),
    BrokenArchive(
        "path_traversal",
        "A file would leave the folder.",
        Expected.REFUSED,
        _with_player("../outside.py", b"outside = 1\n"),
    ),
    BrokenArchive(
        "no_class",
        "player.py has no class Player.",
        Expected.FAULT,
        lambda: zip_bytes([("player.py", b"answer = 42\n")]),
    ),
    BrokenArchive("player_fails", "It raises in one of ten steps.", Expected.FAULT, player_fails),
)


def write_broken_archives(folder: Path) -> list[Path]:
    """Write all broken archives into a folder; return their paths in the order of ARCHIVES."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for archive in ARCHIVES:
        path = folder / f"{archive.name}.zip"
        path.write_bytes(archive.make())
        paths.append(path)
    return paths


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = ArgumentParser(
        prog="python -m example_players.acceptance", description="Write broken archives to test an arena with."
    )
    parser.add_argument("folder", type=Path, help="folder for the zips")
    options = parser.parse_args(arguments)
    for archive, path in zip(ARCHIVES, write_broken_archives(options.folder), strict=True):
        sys.stdout.write(f"{path}: {archive.mistake} Expected: {archive.expected}.\n")
    return 0


def _first_half(content: bytes) -> bytes:
    return content[: len(content) // 2]


if __name__ == "__main__":
    sys.exit(main())
