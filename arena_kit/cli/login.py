"""`arena login`: save a token of a site, made with e-mail and password or by the site's own page."""

from __future__ import annotations

import argparse
import getpass
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import replace

from arena_kit.cli.common import DONE, BadArgument, run_command, show, tell
from arena_kit.cli.sites import TOKEN_VARIABLE, read_sites, unencrypted, write_sites
from arena_kit.client import Client, SiteError, Trouble
from arena_kit.client.transport import is_encrypted

CODE_NEEDED = "second factor"
"""Words of the site's sentence when the password is right and a code is missing."""
DAYS = 30


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
    parser.add_argument("--name", default=f"arena on {platform.node()}"[:50], help="what the site calls the token")
    parser.add_argument("--days", type=int, default=DAYS, help=f"days until it expires (default {DAYS})")
    parser.add_argument("--forget", action="store_true", help="remove the saved token of this site")
    return parser


def _login(options: argparse.Namespace) -> int:
    client = Client(options.site)
    client.arena()
    if not is_encrypted(client.site):
        tell(unencrypted(client.site))
    token = sys.stdin.readline().strip() if options.with_token else _made(client, options)
    if not token:
        raise BadArgument("Standard input has no token.")
    username = Client(client.site, token=token).username()
    sites = read_sites()
    path = write_sites(replace(sites, last=client.site, tokens={**sites.tokens, client.site: token}))
    data = {"site": client.site, "username": username, "file": str(path)}
    show(options, data, f"You are {username} at {client.site}. The token is in {path}.")
    if os.environ.get(TOKEN_VARIABLE):
        tell(f"{TOKEN_VARIABLE} is set and wins over the saved token.")
    return DONE


def _made(client: Client, options: argparse.Namespace) -> str:
    """Make a token with e-mail and password, which are asked for and never given as arguments."""
    if not sys.stdin.isatty():
        raise BadArgument(
            "Standard input is not a terminal. Use --with-token, or set ARENA_TOKEN instead of logging in."
        )
    try:
        email = options.email or input("E-mail: ").strip()
        password, code = getpass.getpass("Password: "), ""
        while True:
            try:
                made = client.token_create(
                    email=email, password=password, code=code, name=options.name, days=options.days
                )
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
