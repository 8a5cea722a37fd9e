"""Players for commands: the sandbox, and the folders, zips and images of players."""

from __future__ import annotations

import argparse
import itertools
import os
from pathlib import Path

from arena_kit.cli.common import LABEL, BadArgument, tell
from arena_kit.cli.needed import PREFIX
from arena_kit.environment.spec import Limits
from arena_kit.machine.processes import LINUX
from arena_kit.sandbox.base import FOLDER_PREFIX, Launch, Sandbox, SandboxError, SandboxUnavailable
from arena_kit.sandbox.choice import containers, containers_trouble, local_processes

SANDBOXES = ("auto", "docker", "process", "plain")
BASE_IMAGE, RUNTIME = "rl-arena-base", "runc"
IMAGE_SECONDS = 300
"""Limit on the engine's silence while the files of an image are taken."""
_launched = itertools.count(1)


def add_sandbox_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose where submissions run."""
    parser.add_argument(
        "--sandbox",
        choices=SANDBOXES,
        default="auto",
        help="docker: locked-down containers; process: local processes, for your own code only; plain: the same as on "
        "macOS and Windows, with limits on time alone; auto (default): containers where they work, otherwise processes",
    )
    parser.add_argument(
        "--base-image",
        default=BASE_IMAGE,
        metavar="IMAGE",
        help="image that folders and zips run on (default rl-arena-base)",
    )
    parser.add_argument("--runtime", default=RUNTIME, help="runtime of the container engine (default runc)")


def sandbox_settle(options: argparse.Namespace) -> str:
    """Return which sandbox the options stand for on this machine, and let them name it from now on."""
    if options.sandbox == "auto":
        reason = containers_trouble(options.base_image, options.runtime)
        options.sandbox = "process" if reason else "docker"
        if reason:
            tell(f"Players run as local processes, because containers do not work here ({reason}).")
    if options.sandbox == "process" and not LINUX:
        options.sandbox = "plain"
    return str(options.sandbox)


def chosen_sandbox(options: argparse.Namespace, channel_dir: Path) -> Sandbox:
    """Return the sandbox that the options choose. Raises BadArgument."""
    if (name := sandbox_settle(options)) != "docker":
        return local_processes(channel_dir, name)
    try:
        sandbox = containers(base_image=options.base_image, runtime=options.runtime, channel_dir=channel_dir)
    except SandboxUnavailable as error:
        raise BadArgument(f"No container can be started: {error}. Or use --sandbox process.") from None
    # The engine of another system is in another machine, to which a start of every player would be tried in vain.
    if not LINUX and (reason := containers_trouble(options.base_image, options.runtime)):
        raise BadArgument(f"No container can be started: {reason}. Use --sandbox process.")
    return sandbox


def launch_of(image: str, limits: Limits, *, packages: str, core: int | None = None) -> Launch:
    """Return how this command starts a container for a player, under a name of its own."""
    name, labels = f"arena-cli-{os.getpid()}-{next(_launched)}", {LABEL: str(os.getpid())}
    return Launch(image, name, limits=limits, labels=labels, core=core, packages=packages)


def unpack(archive: Path, folder: Path) -> Path:
    """Check a zip or a .py file, unpack it into a new folder and return the folder. Raises BadArgument."""
    # Late: Docker's client and the reading of zips take long to load.
    from arena_kit.cli.archives import Unpackable, archive_of
    from arena_kit.upload.archive import unpack_archive
    from arena_kit.upload.zip_safety import ArchiveRefused

    try:
        with archive_of(str(archive)) as (file, _):
            unpack_archive(file, folder)
    except (ArchiveRefused, Unpackable) as refused:
        raise BadArgument(f"{archive}: {refused}") from None
    return folder


def image_name(word: str, options: argparse.Namespace) -> str:
    """Return `word`, which names no file or folder, as the name of an image. Raises BadArgument if it cannot be one."""
    if word.endswith((".zip", "/")) or word.startswith((".", "/")) or "\\" in word:
        raise BadArgument(f"There is no file or folder {word}.")
    if sandbox_settle(options) != "docker":
        raise BadArgument(f"There is no file or folder {word}; images need --sandbox docker.")
    return word


def sandbox_check(sandbox: Sandbox, *images: str, is_script: bool = False) -> list[str]:
    """Return these images as the sandbox starts them. Raises BadArgument for one that cannot play, and SandboxError.

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
    return [image if image.startswith(FOLDER_PREFIX) else _image_taken(image, is_script) for image in images]


def _image_taken(name: str, is_script: bool) -> str:
    """Return the content id of an image as the arena plays it, whose code may be in /app. Raises BadArgument."""
    # Late: Docker's client takes long to load.
    from arena_kit.image.calls import engine
    from arena_kit.image.errors import BuilderUnavailable, BuildFailed
    from arena_kit.image.foreign import image_taken

    try:
        with engine(IMAGE_SECONDS) as client:
            taken = image_taken(client, name, prefix=PREFIX, is_script=is_script)
    except BuildFailed as failed:
        raise BadArgument(f"{name}: {failed}") from None
    except BuilderUnavailable as trouble:
        raise SandboxUnavailable(str(trouble), code=trouble.code) from None
    if not taken:
        raise BadArgument(f"There is no file, folder or image {name}.")
    return taken


def display_name(player: str) -> str:
    """Return the name of a player for results: that of its folder, its file or its image."""
    path = Path(player)
    return (path.resolve().name or player) if path.exists() else player


def player_image(player: str, options: argparse.Namespace, unpacked: Path) -> str:
    """Return what the sandbox starts for a folder, a zip or the name of an image. Raises BadArgument."""
    # Late: Docker's client and the reading of zips take long to load.
    from arena_kit.upload.archive import PLAYER_ENTRY_POINTS

    path = Path(player)
    if path.is_dir():
        if not any((path / name).is_file() for name in PLAYER_ENTRY_POINTS):
            *first, last = PLAYER_ENTRY_POINTS
            raise BadArgument(f"The folder {player} has no {', '.join(first)} or {last}.")
        return FOLDER_PREFIX + str(path.resolve())
    if path.is_file():
        return FOLDER_PREFIX + str(unpack(path, unpacked))
    return image_name(player, options)
