"""`arena submit`: upload an agent or a new version of one, and follow it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from tqdm import tqdm

from arena_kit.cli.archives import Unpackable, archive_of
from arena_kit.cli.common import DONE, NO, BadArgument, run_command, show, tell
from arena_kit.cli.follow import follow
from arena_kit.cli.naming import AGENT_HELP, agent_named
from arena_kit.cli.sites import add_site_option, client_of
from arena_kit.cli.status import version_data, version_text, waiting_job
from arena_kit.client import Client
from arena_kit.client.answers import Version
from arena_kit.upload.admission import archive_admit, too_large
from arena_kit.upload.zip_safety import ArchiveRefused


def main(arguments: Sequence[str]) -> int:
    """Upload a submission. Returns 0 if the site accepted it, with `--follow` if it is ready."""
    return run_command(_parser(), arguments, lambda options, _: _submit(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arena submit",
        description="Upload a folder or a zip as a new agent, or as a new version of one.",
        epilog="Exit code: 0 accepted (with --follow: ready), 3 refused or failed, 1 the network or the site failed "
        "(with --follow: or waiting longer does not help), 2 wrong arguments, 4 log in first.",
    )
    parser.add_argument("player", help="a folder, a zip or a .py file")
    parser.add_argument("--new-version-of", metavar="AGENT", default="", help=AGENT_HELP)
    parser.add_argument("--environment", metavar="NAME", default="", help="of a new agent")
    parser.add_argument("--name", default="", help="of a new agent")
    parser.add_argument(
        "--public", action="store_true", help="everyone may read source and logs of the new agent, forever"
    )
    parser.add_argument("--algorithm", default="", help="what trained it, for boards")
    parser.add_argument("--follow", action="store_true", help="wait until the version is ready or has failed")
    parser.add_argument("--no-check", action="store_true", help="leave the first look at the files to the site")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    add_site_option(parser)
    return parser


def _submit(options: argparse.Namespace) -> int:
    if bool(options.new_version_of) == bool(options.environment or options.name):
        raise BadArgument("Give either --new-version-of, or --environment and --name for a new agent.")
    if not options.new_version_of and not (options.environment and options.name):
        raise BadArgument("A new agent needs both --environment and --name.")
    if options.new_version_of and options.public:
        raise BadArgument("--public is for new agents; a version is as public as its agent.")
    client = client_of(options, needs_token=True)
    new = NewAgent(options.environment, options.name, options.public) if options.environment else None
    try:
        version = upload(
            client,
            options.player,
            new or options.new_version_of,
            algorithm=options.algorithm,
            is_checked=not options.no_check,
            is_quiet=options.quiet,
        )
    except (ArchiveRefused, Unpackable) as refusal:
        data = {"code": refusal.code, "error": str(refusal)}
        show(options, data, f"Refused, and not sent ({refusal.code}): {refusal}")
        return NO
    said = {"notes": list(version.notes or ())}
    status = DONE
    if options.follow:
        version, status = follow(client, version.id, tell)
    job = waiting_job(client, version)
    show(options, version_data(version, job) | said, version_text(version, job))
    return status


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An agent that an upload makes. is_public: whether everyone may read its source and logs, forever."""

    environment: str
    name: str
    is_public: bool = False


def upload(
    client: Client,
    player: str,
    what: NewAgent | str,
    *,
    algorithm: str = "",
    is_checked: bool = True,
    is_quiet: bool = False,
) -> Version:
    """Upload a folder, a zip or a .py file, and print the notes on it.

    what: a new agent, or the agent that gets a new version, by AGENT_HELP. is_checked: whether the files are checked
    here first. Raises BadArgument, ArchiveRefused, Unpackable and SiteError.
    """

    def takes_scripts() -> bool:
        if isinstance(what, NewAgent):
            return client.environment(what.environment).takes_scripts
        agent = agent_named(client, what)
        return not isinstance(agent, int) and client.environment(agent.environment).takes_scripts

    with archive_of(player, takes_scripts) as (file, notes):
        for note in notes:
            tell(note)
        if isinstance(what, NewAgent):
            environment, number = what.environment, 0
        else:
            agent = agent_named(client, what)
            environment, number = ("", agent) if isinstance(agent, int) else (agent.environment, agent.id)
        if environment and is_checked:
            _look(client, file, environment)
        with _Shown(file, is_quiet=is_quiet) as shown:
            if isinstance(what, NewAgent):
                version = client.agent_create(
                    shown,
                    environment=what.environment,
                    name=what.name,
                    is_public=what.is_public,
                    algorithm=algorithm,
                )
            else:
                version = client.version_create(shown, agent=number, algorithm=algorithm)
    for note in version.notes or ():
        tell(note)
    return version


def _look(client: Client, file: IO[bytes], environment: str) -> None:
    """Check the files here with the words of the site, before they are sent. Raises ArchiveRefused and SiteError."""
    most = client.arena().max_upload_bytes
    if file.seek(0, os.SEEK_END) > most:
        raise ArchiveRefused(too_large(most), code="upload_too_large")
    wanted = client.environment(environment)
    admitted = archive_admit(file, environment=wanted.name, takes_scripts=wanted.takes_scripts)
    for note in admitted.notes:
        tell(note)


class _Shown:
    """A file whose reading moves a progress bar."""

    def __init__(self, file: IO[bytes], *, is_quiet: bool) -> None:
        self._file = file
        total = file.seek(0, os.SEEK_END)
        self._bar = tqdm(
            total=total, unit="B", unit_scale=True, disable=True if is_quiet else None, file=sys.stderr, leave=False
        )

    def __enter__(self) -> IO[bytes]:
        return self  # type: ignore[return-value]  # the client seeks and reads, nothing else

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._bar.update(len(data))
        return data
