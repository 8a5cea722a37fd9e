"""The sites that the user has logged in to: their tokens in a file that only the user may read."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import tempfile
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from arena_kit.cli.common import BadArgument, tell
from arena_kit.client import Client, SiteError, Trouble
from arena_kit.client.transport import is_encrypted, site_address
from arena_kit.machine import files
from arena_kit.version import SOURCE, kit_version

TOKEN_VARIABLE, SITE_VARIABLE = "ARENA_TOKEN", "ARENA_URL"
FILE = "sites.json"
COMPARING_SECONDS = 5.0
"""A site has this long to answer which arena-kit it offers."""
NO_SITE = f"No site is known. Run `arena login URL` or arena_kit.login(URL), or set {SITE_VARIABLE}."


@dataclass(frozen=True, slots=True)
class Sites:
    """The file's content. last: the site of the last login. tokens: by site.

    compared: by site, the day (ISO 8601) of the last comparison with the arena-kit that the site offers.
    """

    last: str = ""
    tokens: dict[str, str] = field(default_factory=dict, repr=False)
    compared: dict[str, str] = field(default_factory=dict)


def path_of_sites() -> Path:
    """Return the path of the file: in `$XDG_CONFIG_HOME/arena-kit`, or in `~/.config/arena-kit`. Raises BadArgument."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    try:
        return (Path(given) if Path(given).is_absolute() else Path.home() / ".config") / "arena-kit" / FILE
    except RuntimeError:
        raise BadArgument(
            f"You have no home folder here to keep tokens in. Set XDG_CONFIG_HOME, or {SITE_VARIABLE} and "
            f"{TOKEN_VARIABLE} instead of logging in."
        ) from None


def read_sites() -> Sites:
    """Return what is saved. Raises BadArgument for a file that others may read or that is damaged."""
    path = path_of_sites()
    try:
        with path.open(encoding="utf-8") as file:
            if files.is_open_to_others(os.fstat(file.fileno()), 0o077):
                _check_drive(path)
            data = json.load(file)
        tokens = {str(site): str(token) for site, token in data["tokens"].items()}
        compared = {str(site): str(day) for site, day in data.get("compared", {}).items()}
        return Sites(str(data["last"]), tokens, compared)
    except FileNotFoundError:
        return Sites()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadArgument(f"{path} is damaged. Remove it and log in again.") from None
    except OSError as error:
        raise BadArgument(f"{path} cannot be read: {error.strerror}.") from None


@functools.cache
def _check_drive(path: Path) -> None:
    """Raise BadArgument for a file that its owner can close to others; print once that a drive keeps no modes."""
    if files.keeps_modes(path.parent):
        raise BadArgument(f"Others may read your tokens. Run: chmod 600 {path}")
    tell(f"{path.parent} is on a drive that closes no file to others: users of this machine may read your tokens.")


def write_sites(sites: Sites) -> Path:
    """Save sites and tokens; the file is complete at any time and never readable by others. Raises BadArgument."""
    path = path_of_sites()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A temporary file is made with the mode 0600.
        descriptor, part = tempfile.mkstemp(prefix=f".{FILE}-", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(asdict(sites), file, indent=2)
            Path(part).replace(path)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadArgument(f"{path} cannot be written: {error.strerror}.") from None
    return path


def add_site_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `--site`."""
    parser.add_argument(
        "--site", metavar="URL", default="", help=f"the arena (default: {SITE_VARIABLE}, or that of the last login)"
    )


def _given_token(site: str) -> str:
    """Return the token of the environment; "" if it is that of another site, which must never see it."""
    own = os.environ.get(SITE_VARIABLE, "")
    is_for_site = not own or site_address(own) == site
    return os.environ.get(TOKEN_VARIABLE, "") if is_for_site else ""


def client_of(options: argparse.Namespace, *, needs_token: bool = False) -> Client:
    """Return the client of the chosen site, with its token if there is one. Raises BadArgument and SiteError."""
    chosen = options.site or os.environ.get(SITE_VARIABLE, "") or read_sites().last
    if not chosen:
        raise BadArgument(NO_SITE)
    site = site_address(chosen)
    token = _given_token(site) or read_sites().tokens.get(site, "")
    if needs_token and not token:
        raise SiteError(
            f"This needs an account at {site}. Run `arena login {site}` or arena_kit.login, or set {TOKEN_VARIABLE}.",
            trouble=Trouble.LOGIN_NEEDED,
        )
    if token and not is_encrypted(site):
        tell(unencrypted(site))
    client = Client(site, token=token)
    _compare_kit(client, time.strftime("%Y-%m-%d", time.gmtime()))
    return client


def _compare_kit(client: Client, today: str) -> None:
    """Tell the user once a day if the site offers another arena-kit, by whose rules it judges."""
    own = kit_version()
    if own == SOURCE:
        return
    # What is wrong with the site or the file, the command itself finds and says.
    with contextlib.suppress(SiteError, BadArgument):
        if read_sites().compared.get(client.site) == today:
            return
        # Without the token, and briefly: a site that is down would otherwise be waited for twice.
        arena = Client(client.site, timeout_seconds=COMPARING_SECONDS).arena()
        if arena.kit_version != own:
            tell(
                f"{client.site} plays by arena-kit {arena.kit_version}, and this is {own}. "
                f'Run: pip install "arena-kit @ {arena.kit_url}"'
            )
        # Read anew: another command may have logged in or out while the site answered.
        sites = read_sites()
        write_sites(replace(sites, compared={**sites.compared, client.site: today}))


def unencrypted(site: str) -> str:
    """Return the warning that a token travels to a site in plain text."""
    return f"The connection to {site} is not encrypted: others on the way can read your token."
