"""What the commands of `arena` share."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from arena_kit.client.errors import LATER, SiteError, Trouble
from arena_kit.environment.protocol import ArenaEnvironmentError, MissingExtra
from arena_kit.folders import own_temporary_folder
from arena_kit.sandbox.base import FOLDER_PREFIX, Sandbox, SandboxError
from arena_kit.text import plain_text

DONE, TRY_LATER, BAD_ARGUMENTS, NO, LOGIN_NEEDED = 0, 1, 2, 3, 4
"""The exit codes of every command: it worked; the platform, the network or the site failed; the arguments are wrong;
the answer is no; a token is missing or wrong."""
INTERRUPTED, PIPE_CLOSED = 130, 141
LABEL = "arena.command-line"


class BadArgument(Exception):
    """The arguments are wrong. The message is a sentence for the user."""


def run_command(action: Callable[[Path], int], *, as_json: bool = False) -> int:
    """Run a command with a temporary folder of its own and return its exit status.

    The status is 2 for wrong arguments, 130 after Ctrl-C and 141 if the output is no longer read; 1, 2, 3 or 4 if a
    site did not do what was asked. as_json: whether an error is printed as JSON, too.
    """
    # These signals become exceptions, so that no process of a submission and no folder is left.
    for number in (signal.SIGTERM, signal.SIGHUP):
        # A command under `nohup` goes on when its terminal is closed.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        # Submissions run as another user, who must be able to reach their files in it.
        with own_temporary_folder("arena-cli-", mode=0o711) as folder:
            status = action(folder)
            sys.stdout.flush()
            return status
    except (BadArgument, ArenaEnvironmentError) as error:
        hint = f" {error.hint}" if isinstance(error, MissingExtra) else ""
        return _failed(f"{error}{hint}", "bad_arguments", BAD_ARGUMENTS, as_json=as_json)
    except SiteError as error:
        return _failed(str(error), error.code, site_status(error), as_json=as_json)
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does. Without this, Python would report it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        print("arena: interrupted.", file=sys.stderr)
        return INTERRUPTED


def _failed(sentence: str, code: str, status: int, *, as_json: bool) -> int:
    print(plain_text(f"arena: {sentence}"), file=sys.stderr)
    if as_json:
        print_json({"error": plain_text(sentence), "code": code})
    return status


def site_status(error: SiteError) -> int:
    """Return the exit status for an error of a site or of the network."""
    if error.trouble is Trouble.LOGIN_NEEDED:
        return LOGIN_NEEDED
    if error.trouble is Trouble.BAD_ADDRESS:
        return BAD_ARGUMENTS
    return TRY_LATER if error.trouble in LATER else NO


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `--json`."""
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object on standard output")


def print_json(data: Mapping[str, object]) -> None:
    """Print one JSON object in ASCII, which is harmless to a terminal whatever it holds."""
    print(json.dumps(data, indent=2))


def show(options: argparse.Namespace, data: Mapping[str, object], text: str) -> None:
    """Print a result: with `--json` the object, otherwise the text without control characters."""
    if options.json:
        print_json(data)
    elif text:
        print(plain_text(text))


def tell(sentence: str) -> None:
    """Print a sentence about the progress on standard error, without control characters."""
    print(plain_text(f"arena: {sentence}"), file=sys.stderr)


def add_sandbox_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose where submissions run."""
    sandboxes = "docker: locked-down containers (default); process: local processes, for your own code only"
    parser.add_argument("--sandbox", choices=("docker", "process"), default="docker", help=sandboxes)
    parser.add_argument("--base-image", default="rl-arena-base", metavar="IMAGE",
                        help="image that folders and zips run on (default rl-arena-base)")  # fmt: skip
    parser.add_argument("--runtime", default="runc", help="runtime of the container engine (default runc)")


def positive(text: str) -> int:
    """Return an argument as a whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def chosen_sandbox(options: argparse.Namespace, channel_dir: Path) -> Sandbox:
    """Return the sandbox that the options choose. Raises BadArgument."""
    if options.sandbox == "docker":
        try:
            from arena_kit.sandbox.docker import DockerSandbox
        except ModuleNotFoundError as error:
            if error.name != "docker":
                raise
            raise BadArgument(
                "Containers need the Python package docker: pip install 'arena-kit[docker]'. "
                "Your own code can also play in local processes: --sandbox process"
            ) from None

        return DockerSandbox(base_image=options.base_image, runtime=options.runtime, channel_dir=channel_dir)
    from arena_kit.sandbox.process import ProcessSandbox

    return ProcessSandbox(channel_dir)


def unpack(archive: Path, folder: Path) -> Path:
    """Check a zip, unpack it into a new folder and return the folder. Raises BadArgument."""
    from arena_kit.upload.archive import unpack_archive
    from arena_kit.upload.zip_safety import ArchiveRefused

    try:
        with archive.open("rb") as file:
            unpack_archive(file, folder)
    except ArchiveRefused as refused:
        raise BadArgument(f"{archive}: {refused}") from None
    except OSError as error:
        raise BadArgument(f"{archive} cannot be read: {error.strerror}.") from None
    return folder


def image_name(word: str, sandbox: str) -> str:
    """Return `word`, which names no file or folder, as the name of an image. Raises BadArgument if it cannot be one."""
    if word.endswith((".zip", "/")) or word.startswith((".", "/")):
        raise BadArgument(f"There is no file or folder {word}.")
    if sandbox == "process":
        raise BadArgument(f"There is no file or folder {word}; images need --sandbox docker.")
    return word


def sandbox_check(sandbox: Sandbox, *images: str) -> None:
    """Look whether the sandbox can start these images. Raises BadArgument for one that is not there, and SandboxError.

    A word that names neither a file nor a folder is taken for an image, so without an engine it is more likely a slip.
    """
    named = [image for image in images if not image.startswith(FOLDER_PREFIX)]
    try:
        sandbox.check()
    except SandboxError as error:
        if not named:
            raise
        sentence = f"There is no file or folder {named[0]}, and an image of that name cannot be looked for: {error}"
        raise BadArgument(sentence) from None
    if named:
        from arena_kit.sandbox.docker import DockerSandbox

        assert isinstance(sandbox, DockerSandbox)
        for name in named:
            if not sandbox.has_image(name):
                raise BadArgument(f"There is no file, folder or image {name}.")


def display_name(player: str) -> str:
    """Return the name of a player for results: that of its folder, its file or its image."""
    path = Path(player)
    return (path.resolve().name or player) if path.exists() else player


def player_image(player: str, sandbox: str, unpacked: Path) -> str:
    """Return what the sandbox starts for a folder, a zip or the name of an image. Raises BadArgument."""
    from arena_kit.upload.archive import PLAYER_ENTRY_POINTS

    path = Path(player)
    if path.is_dir():
        if not any((path / name).is_file() for name in PLAYER_ENTRY_POINTS):
            *first, last = PLAYER_ENTRY_POINTS
            raise BadArgument(f"The folder {player} has no {', '.join(first)} or {last}.")
        return FOLDER_PREFIX + str(path.resolve())
    if path.is_file():
        return FOLDER_PREFIX + str(unpack(path, unpacked))
    return image_name(player, sandbox)


def output_check(path: Path) -> None:
    """Look, before any long work, whether a file can be written. Raises BadArgument."""
    if not path.parent.is_dir():
        raise BadArgument(f"The folder {path.parent} of the output does not exist.")
    if path.is_dir():
        raise BadArgument(f"{path} cannot be written: it is a folder. Name a file.")
    if _is_device(path):
        return
    try:
        # Only an attempt shows it: the administrator's rights, for one, do not help on a disk that is read only.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise BadArgument(f"{path} cannot be written: {error.strerror}.") from None


def folder_made(folder: Path) -> None:
    """Make a folder for output, if it is not there. Raises BadArgument."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadArgument(f"The folder {folder} cannot be made: {error.strerror}.") from None
    output_check(folder / "log")


def output_open(path: Path) -> contextlib.AbstractContextManager[IO[bytes]]:
    """Open a file to write, which has its name only once it is complete. Raises BadArgument."""
    output_check(path)
    return _output(path)


@contextlib.contextmanager
def _output(path: Path) -> Iterator[IO[bytes]]:
    part = path if _is_device(path) else path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            yield file
        if part != path:
            part.replace(path)
    except OSError as error:
        raise BadArgument(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        if part != path:
            part.unlink(missing_ok=True)


def _is_device(path: Path) -> bool:
    """Return whether a path is something like /dev/null, which is written to and never replaced."""
    return path.exists() and not path.is_file()


def content_write(path: Path, make: Callable[[], bytes]) -> None:
    """Write what `make` returns; if it raises, nothing is written. Raises BadArgument."""
    opened = output_open(path)
    content = make()
    with opened as file:
        file.write(content)
