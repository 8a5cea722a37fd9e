"""`arena pull`: fetch the files of a version, or the folder or the matches of an environment."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

from arena_kit.cli.common import DONE, NO, BadArgument, run_command, show
from arena_kit.cli.environments import add_folder_option
from arena_kit.cli.matches import FORMS, matches_fetch
from arena_kit.cli.naming import VERSION_HELP, is_public_id, version_named
from arena_kit.cli.sites import add_site_option, client_of
from arena_kit.client import Client
from arena_kit.datasets.lines import NotADataset
from arena_kit.upload.archive import unpack_archive
from arena_kit.upload.zip_safety import ArchiveRefused

ENVIRONMENTS = "environments"
"""The folder for environments, as the option `--environments` of other commands takes it."""


def main(arguments: Sequence[str]) -> int:
    """Fetch files from a site. Returns 0 if they are there."""
    parser = argparse.ArgumentParser(
        prog="arena pull",
        description="Fetch the files of a version of yours or of a public agent, or the folder of an environment, or "
        "its rated matches as a data set.",
        epilog="Exit code: 0 fetched, 3 there is nothing that you may fetch, 1 the network or the site failed, "
        "2 wrong arguments, 4 log in first.",
    )
    parser.add_argument("what", metavar="VERSION|ENVIRONMENT", help=f"{VERSION_HELP}; or the name of an environment")
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="default: named after the version, or `environments`"
    )
    parser.add_argument(
        "--matches", action="store_true", help="fetch all rated matches of the environment as a data set"
    )
    parser.add_argument(
        "--format",
        choices=FORMS,
        default=FORMS[0],
        help="of the data set: lines of JSON (default), Parquet, or Minari's, one a seat; the last two need "
        "arena-kit[datasets]",
    )
    add_folder_option(parser)
    add_site_option(parser)
    return run_command(parser, arguments, _pull)


def _pull(options: argparse.Namespace, temporary: Path) -> int:
    client, unpacked = client_of(options), temporary / "pulled"
    if options.matches:
        return _pull_matches(options, client, temporary)
    with tempfile.TemporaryFile() as made:
        file = cast(IO[bytes], made)
        name = _fetch(client, options.what, file)
        folder = options.output or Path(name)
        try:
            unpack_archive(file, unpacked, needs_entry_point=False)
        except ArchiveRefused as refusal:
            # What a site sends is as untrusted as what is sent to it.
            show(options, {"code": refusal.code, "error": str(refusal)}, f"Not unpacked ({refusal.code}): {refusal}")
            return NO
    names = _move(unpacked, folder)
    data = {"folder": str(folder), "files": names}
    show(options, data, f"{folder}: {', '.join(names)}. Look at the code before you run it.")
    return DONE


def _pull_matches(options: argparse.Namespace, client: Client, temporary: Path) -> int:
    """Fetch a data set, and keep it only if it is whole. Raises BadArgument."""
    (made := temporary / "kept").mkdir()
    try:
        found = matches_fetch(options, client, made)
    except (NotADataset, ValueError) as error:
        show(options, {"error": str(error)}, f"Not kept: {error}")
        return NO
    folder = options.output or Path()
    names = _move(made, folder)
    data = {
        "file": str(folder / names[0]),
        "names": list(found.names),
        "matches": found.count,
        "left_out": found.left_out,
        "licence": found.licence,
    }
    text = f"{folder / names[0]}: {found.count} matches of {found.environment}, {found.licence}."
    if options.format == "minari":
        text += f" {found.left_out} with a forfeit, or that do not replay, are left out."
        text += f" Minari finds {' and '.join(found.names)} with MINARI_DATASETS_PATH={folder.resolve()}."
    show(options, data, text)
    return DONE


def _move(unpacked: Path, folder: Path) -> list[str]:
    """Move what was unpacked into a folder; return the names of the entries. Raises BadArgument, and moves nothing."""
    names = sorted(path.name for path in unpacked.iterdir())
    if there := [name for name in names if os.path.lexists(folder / name)]:
        raise BadArgument(f"{folder / there[0]} is there already. Choose another folder with --output.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            shutil.move(unpacked / name, folder / name)
    except OSError as error:
        raise BadArgument(f"{folder} cannot be written: {error.strerror}.") from None
    return names


def _fetch(client: Client, what: str, file: IO[bytes]) -> str:
    """Write a zip to `file`; return the name of the folder to unpack it to."""
    if "/" in what or is_public_id(what):
        version = version_named(client, what)
        client.archive(version.id, file)
        return _folder_name(f"{version.agent.name}-v{version.number}")
    client.environment_folder(client.environment(what).slug, file)
    return ENVIRONMENTS


def _folder_name(text: str) -> str:
    """Return a text of the site as the name of a folder here."""
    kept = "".join(character if character.isalnum() or character in "-_" else "-" for character in text)
    return kept.strip("-")[:80] or "pulled"
