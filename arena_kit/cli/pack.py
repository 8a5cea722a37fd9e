"""`arena pack`: pack the content of a folder into a zip that a site takes."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

from arena_kit.cli.archives import Unpackable, archive_of
from arena_kit.cli.common import DONE, NO, BadArgument, run_command, show, tell
from arena_kit.cli.output import output_check, output_open
from arena_kit.upload.archive import inspect_contents
from arena_kit.upload.zip_safety import READ_BYTES, ArchiveRefused


def main(arguments: Sequence[str]) -> int:
    """Pack a folder. Returns 0, or 3 if a site would refuse the table of contents of the zip."""
    parser = argparse.ArgumentParser(
        prog="arena pack",
        description="Pack the content of a folder into a zip, without hidden files and compiled Python. "
        "The same files give the same bytes.",
        epilog="Exit code: 0 packed, 3 an arena would refuse it (`arena check` says more), 2 wrong arguments.",
    )
    parser.add_argument("folder", help="the folder with player.py")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: the folder's name with .zip, here")
    return run_command(parser, arguments, lambda options, _: _pack(options))


def _pack(options: argparse.Namespace) -> int:
    folder = Path(options.folder)
    if not folder.is_dir():
        raise BadArgument(f"There is no folder {options.folder}.")
    target = options.output or Path(f"{folder.resolve().name}.zip")
    output_check(target)
    try:
        with archive_of(options.folder) as (file, notes):
            report = inspect_contents(file)
            digest = hashlib.sha256()
            file.seek(0)
            with output_open(target) as output:
                while piece := file.read(READ_BYTES):
                    digest.update(piece)
                    output.write(piece)
    except (ArchiveRefused, Unpackable) as refusal:
        show(options, {"code": refusal.code, "error": str(refusal)}, f"Not packed ({refusal.code}): {refusal}")
        return NO
    for note in (*notes, *report.notes):
        tell(note)
    size = target.stat().st_size
    data = {"file": str(target), "bytes": size, "sha256": digest.hexdigest(), "files": list(report.names)}
    show(options, data, f"{target}: {len(report.names)} files, {size:,} bytes, sha256 {digest.hexdigest()}")
    return DONE
