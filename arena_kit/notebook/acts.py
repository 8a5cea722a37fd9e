"""Checking, submitting and looking up agents from a notebook, by the functions behind the command `arena`.

They run in any thread and set no signal handlers. Sites and tokens are those of the command: `ARENA_URL`,
`ARENA_TOKEN`, or the last login.
"""

from __future__ import annotations

import argparse
import getpass
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena_kit.cli.check import Checked, checked_player
from arena_kit.cli.common import DONE
from arena_kit.cli.follow import follow as follow_version
from arena_kit.cli.login import LoggedIn, arena_at, token_made, token_saved
from arena_kit.cli.naming import agent_named
from arena_kit.cli.players import BASE_IMAGE, RUNTIME, SANDBOXES
from arena_kit.cli.sites import client_of
from arena_kit.cli.status import version_text
from arena_kit.cli.submit import NewAgent, upload
from arena_kit.client.answers import RatingCourse, Version, VersionComparison
from arena_kit.client.client import Client
from arena_kit.environment.registry import spec_from
from arena_kit.folders import own_temporary_folder
from arena_kit.html import lines
from arena_kit.notebook.progress import bar
from arena_kit.notebook.writing import Files, write_agent


@dataclass(frozen=True, slots=True)
class Submitted:
    """An upload. version: as the site last described it. is_ready: whether it can play; False while that is open."""

    version: Version
    is_ready: bool

    def __str__(self) -> str:
        return version_text(self.version, None)

    def _repr_html_(self) -> str:
        return lines(str(self))


def check(
    player: Any,
    environment: str,
    *,
    files: Files = (),
    files_only: bool = False,
    sandbox: str = "auto",
    seed: int = 0,
    environments: str | Path = "",
    quiet: bool = False,
) -> Checked:
    """Check an agent as the arena does: its files, then play against itself (with one seat: a few episodes).

    player: the path of a folder or zip, or a class or function, which is written into a folder first, see
    `write_agent`. environment: as in the arena. files: of the folder, as in `write_agent`. files_only: do not play.
    sandbox: where it plays, as for `arena check`: `auto`, `docker`, or for your own code `process` or `plain`. seed: of
    the play against itself. environments: a folder of environments that arena-kit does not hold. quiet: no progress
    bar.

    Returns the verdict: `passes`, `code`, `sentence`, `warnings`. Raises CannotWrite and other ValueErrors,
    BadArgument, UnknownEnvironment, MissingExtra, and PlatformFault if it could not be tried.
    """
    if sandbox not in SANDBOXES:
        raise ValueError(f"There is no sandbox {sandbox!r}; there are {', '.join(SANDBOXES)}.")
    # Submissions run as another user, who must be able to reach their files in it.
    with own_temporary_folder("arena-check-", mode=0o711) as folder:
        is_path = isinstance(player, (str, Path))
        path = str(player if is_path else write_agent(player, folder / "written", files=files))
        options = argparse.Namespace(player=path, seed=seed, files_only=files_only, no_install=False, quiet=quiet)
        options.sandbox, options.base_image, options.runtime = sandbox, BASE_IMAGE, RUNTIME
        return checked_player(options, spec_from(environments, environment), folder)


def login(site: str, *, email: str = "", token: str = "") -> LoggedIn:
    """Log in to a site, and save a token of it in a file that only you may read.

    It asks for e-mail, password and perhaps a code, or, with `token="ask"`, for a token from your profile page, which
    an account with a passkey needs; nothing that is typed is shown or kept in the notebook. site: its address. email:
    of your account. token: a token itself, better read from a secret of the notebook's host than written into a cell.

    Raises SiteError and BadArgument.
    """
    client = arena_at(site)
    if token == "ask":  # noqa: S105  (a word, not a token)
        token = getpass.getpass("Token: ").strip()
    return token_saved(client.site, token or token_made(client, email=email))


def submit(
    player: str | Path,
    *,
    environment: str = "",
    name: str = "",
    new_version_of: str = "",
    public: bool = False,
    algorithm: str = "",
    follow: bool = True,
    site: str = "",
    quiet: bool = False,
) -> Submitted:
    """Upload a folder or a zip as a new agent, or as a new version of one, and follow it until it is ready or fails.

    player: its path. environment, name: of a new agent. new_version_of: the agent that gets a new version: its name, if
    it is yours, ENVIRONMENT/AGENT, or its id. public: whether everyone may read source and logs of a new agent,
    forever. algorithm: what trained it, for boards. follow: whether to wait, with a bar. site: its address; empty for
    that of the last login. quiet: no bars.

    Raises ValueError, BadArgument, ArchiveRefused or Unpackable for files that the arena refuses, and SiteError.
    """
    if bool(new_version_of) == bool(environment or name) or bool(environment) != bool(name):
        raise ValueError("Give environment and name for a new agent, or new_version_of.")
    if new_version_of and public:
        raise ValueError("public is for new agents; a version is as public as its agent.")
    client = _client(site, needs_token=True)
    what = NewAgent(environment, name, public) if name else new_version_of
    version = upload(client, str(player), what, algorithm=algorithm, is_quiet=quiet)
    return _followed(client, version, quiet=quiet) if follow else Submitted(version, version.status == "READY")


def history(agent: str | int, *, site: str = "") -> RatingCourse:
    """Return the ratings of an agent over time, which a notebook draws; `.table` has the points.

    agent: the name of one of yours, ENVIRONMENT/AGENT, or an id. site: as in `submit`. Raises BadArgument, SiteError.
    """
    client = _client(site)
    found = agent_named(client, str(agent))
    return client.history(found if isinstance(found, int) else found.id)


def compare(environment: str, first: str, second: str, *, site: str = "") -> VersionComparison:
    """Say which of two versions is better, with the 95% interval of the difference, by what both have met.

    first, second: the id of a version, the name of an agent, or name and number: `alpha v2`. site: as in `submit`.
    Raises BadArgument and SiteError.
    """
    return _client(site).comparison(environment, first, second)


def _client(site: str, *, needs_token: bool = False) -> Client:
    return client_of(argparse.Namespace(site=site), needs_token=needs_token)


def _followed(client: Client, version: Version, *, quiet: bool) -> Submitted:
    with bar(1, "steps", form="{n_fmt}/{total_fmt} steps, {elapsed}: {desc}", quiet=quiet) as shown:

        def update(found: Version) -> None:
            shown.total = max(1, len(found.phases))
            shown.update(sum(phase.is_over for phase in found.phases) - shown.n)

        last, status = follow_version(client, version.id, lambda told: shown.set_description_str(told), update)
    return Submitted(last, status == DONE)
