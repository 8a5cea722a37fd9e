"""`arena login`: save a token of a site, made with e-mail and password or by the site's own page."""

from __future__ import annotations

import argparse
import getpass
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from arena_kit.cli.common import DONE, BadArgument, run_command, show, tell
from arena_kit.cli.sites import TOKEN_VARIABLE, read_sites, unencrypted, write_sites
from arena_kit.client import Client, SiteError, Trouble
from arena_kit.client.transport import is_encrypted

CODE_NEEDED = "second factor"
"""Words of the site's sentence when the password is right and a code is missing."""
DAYS = 30
NAME = f"arena on {platform.node()}"[:50]


def main(arguments: Sequence[str]) -> int:
    """Log in to a site. Returns 0 if its token is saved, or an exit code of every command."""
    return run_command(_parser(), arguments, lambda options, _: _forget(options) if options.forget else _login(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arena login",
        description="Save a token of a site in a file that only you may read.",
        epilog=f"The variable {TOKEN_VARIABLE} wins over saved tokens. "
        "Exit code: 0 saved, 1 the network or the site failed, 2 wrong arguments, 3 refused, "
        "4 wrong password or token.",
    )
    parser.add_argument("site", metavar="URL", help="the address of the arena, e.g. https://arena.example.org")
    parser.add_argument("--email", default="", help="of your account (default: you are asked)")
    parser.add_argument(
        "--with-token", action="store_true", help="read a token, made on your profile page, from standard input"
    )
    parser.add_argument("--name", default=NAME, help="what the site calls the token")
    parser.add_argument("--days", type=int, default=DAYS, help=f"days until it expires (default {DAYS})")
    parser.add_argument("--forget", action="store_true", help="remove the saved token of this site")
    return parser


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A saved token, of whom, and the file that it is in."""

    site: str
    username: str
    file: Path

    def __str__(self) -> str:
        return f"You are {self.username} at {self.site}. The token is in {self.file}."


def _login(options: argparse.Namespace) -> int:
    client = arena_at(options.site)
    if options.with_token:
        token = sys.stdin.readline().strip()
    elif sys.stdin.isatty():
        token = token_made(client, email=options.email, name=options.name, days=options.days)
    else:
        raise BadArgument(
            "Standard input is not a terminal. Use --with-token, or set ARENA_TOKEN instead of logging in."
        )
    if not token:
        raise BadArgument("Standard input has no token.")
    saved = token_saved(client.site, token)
    data = {"site": saved.site, "username": saved.username, "file": str(saved.file)}
    show(options, data, str(saved))
    if os.environ.get(TOKEN_VARIABLE):
        tell(f"{TOKEN_VARIABLE} is set and wins over the saved token.")
    return DONE


def arena_at(site: str) -> Client:
    """Return the client of an address that is an arena. Raises SiteError."""
    client = Client(site)
    client.arena()
    if not is_encrypted(client.site):
        tell(unencrypted(client.site))
    return client


def token_saved(site: str, token: str) -> LoggedIn:
    """Save a token once the site has named its owner. Raises BadArgument and SiteError."""
    username = Client(site, token=token).username()
    sites = read_sites()
    return LoggedIn(site, username, write_sites(replace(sites, last=site, tokens={**sites.tokens, site: token})))


def token_made(client: Client, *, email: str = "", name: str = NAME, days: int = DAYS) -> str:
    """Make a token with e-mail and password, which are asked for and never given as arguments.

    name: what the site calls the token. Raises BadArgument and SiteError.
    """
    try:
        email = email or input("E-mail: ").strip()
        password, code = getpass.getpass("Password: "), ""
        while True:
            try:
                made = client.token_create(email=email, password=password, code=code, name=name, days=days)
            except SiteError as error:
                if code or error.trouble is not Trouble.LOGIN_NEEDED or CODE_NEEDED not in str(error):
                    raise
                code = input("Code of your second factor: ").strip()
                continue
            return made.token
    except EOFError:
        raise BadArgument("The input ended before the question was answered. Nothing is saved.") from None


def _forget(options: argparse.Namespace) -> int:
    site = Client(options.site).site
    sites = read_sites()
    tokens = {name: token for name, token in sites.tokens.items() if name != site}
    if len(tokens) == len(sites.tokens):
        raise BadArgument(f"No token of {site} is saved.")
    write_sites(replace(sites, last="" if sites.last == site else sites.last, tokens=tokens))
    text = f"The token of {site} is no longer saved here. It stays valid until you revoke it on your profile page."
    show(options, {"site": site, "forgotten": True}, text)
    return DONE
