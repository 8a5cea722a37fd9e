"""`arena compare`: say which of two versions is better, by what both have met."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from arena_kit.cli.common import DONE, run_command, show
from arena_kit.cli.sites import add_site_option, client_of


def main(arguments: Sequence[str]) -> int:
    """Show a comparison. Returns 0."""
    parser = argparse.ArgumentParser(
        prog="arena compare",
        description="Say which of two versions is better, with the 95% interval of the difference: by their duels "
        "against the same opponents and against each other, or by their scores on the same seeds.",
        epilog="Exit code: 0 shown, whatever the verdict; 3 there is no such environment, 1 the network or the site "
        "failed, 2 wrong arguments or a name that names no version, 4 log in first.",
    )
    parser.add_argument("environment", help="its name in the address of its page, e.g. connect-four")
    for name in ("first", "second"):
        parser.add_argument(
            name, metavar=name.upper(), help="id of a version, name of an agent, or name and number: 'alpha v2'"
        )
    add_site_option(parser)
    return run_command(parser, arguments, lambda options, _: _compare(options))


def _compare(options: argparse.Namespace) -> int:
    found = client_of(options).comparison(options.environment, options.first, options.second)
    show(options, found.answer, found.sentence)
    return DONE
