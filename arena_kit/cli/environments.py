"""Environments for the commands that play them: those of the library, and those of a folder of your own."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from arena_kit.cli.common import BadArgument
from arena_kit.environment.registry import get_spec, use_chosen
from arena_kit.environment.spec import EnvironmentSpec


def add_environment_options(
    parser: argparse.ArgumentParser, names: Iterable[str], *, metavar: str = "NAME", required: bool = True
) -> None:
    """Add `--environment` and `--environments`. names: those that the help lists."""
    known = ", ".join(names)
    parser.add_argument("--environment", required=required, metavar=metavar, help=f"one of: {known}")
    add_folder_option(parser)


def add_folder_option(parser: argparse.ArgumentParser) -> None:
    """Add `--environments`, the folder that `use_own_environments` reads."""
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="folder with environments of your own")


def use_own_environments(options: argparse.Namespace) -> None:
    """Make the environments of the folder known, if one is given. Raises BadArgument and ArenaEnvironmentError."""
    if options.environments is not None:
        try:
            use_chosen(options.environments)
        except ValueError as error:
            raise BadArgument(str(error)) from None


def chosen_spec(options: argparse.Namespace) -> EnvironmentSpec:
    """Return the rules that `--environment` names. Raises BadArgument and ArenaEnvironmentError."""
    use_own_environments(options)
    return get_spec(options.environment)
