"""The rated matches of an environment, fetched from a site and written in the form that was asked for."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from arena_kit.cli.common import BadArgument
from arena_kit.cli.environments import use_own_environments
from arena_kit.client import Client
from arena_kit.datasets.lines import read_dataset
from arena_kit.datasets.parquet import write_parquet
from arena_kit.environment.registry import get_spec

FORMS = ("jsonl", "parquet", "minari")


@dataclass(frozen=True, slots=True)
class FetchedMatches:
    """A data set in a folder. names: its files, or the names of Minari's data sets. left_out: matches without one."""

    names: tuple[str, ...]
    environment: str
    licence: str
    count: int
    left_out: int = 0


def matches_fetch(options: argparse.Namespace, client: Client, folder: Path) -> FetchedMatches:
    """Write a whole data set to an empty folder in the form that `--format` names.

    Raises NotADataset, BadArgument, SiteError and ArenaEnvironmentError.
    """
    slug = client.environment(options.what).slug
    lines = folder.parent / "matches.jsonl"
    with lines.open("w+b") as file:
        client.environment_matches(slug, file)
        file.seek(0)
        header, *matches = read_dataset(file)
        rules, licence = str(header["environment"]), str(header["licence"])
        file.seek(0)
        if options.format == "parquet":
            name = f"{slug}-matches.parquet"
            return FetchedMatches((name,), rules, licence, write_parquet(file, folder / name))
        if options.format == "minari":
            return _minari(options, folder, lines, rules, licence)
    name = f"{slug}-matches.jsonl"
    lines.rename(folder / name)
    return FetchedMatches((name,), rules, licence, len(matches))


def _minari(options: argparse.Namespace, folder: Path, lines: Path, rules: str, licence: str) -> FetchedMatches:
    # Gymnasium, for the spaces, is an extra.
    from arena_kit.datasets.trajectories import write_minari

    use_own_environments(options)
    spec = get_spec(rules)
    if spec.id != rules:
        raise BadArgument(f"The site has {rules}, and this arena-kit {spec.id}: install the arena-kit of the site.")
    with lines.open("rb") as file:
        written = write_minari(file, folder, spec)
    return FetchedMatches(written.ids, rules, licence, written.matches, written.left_out)
