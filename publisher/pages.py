"""The README pages of the repository: which environments and agents it has. Pure; everything in them is hostile."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MARK = "<!-- Written by the arena. What is changed here is overwritten; without this line it is left alone. -->"
"""The first line of every page of ours. A README that people have written has it not, and is kept."""
PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
LICENCES = re.compile(r"(?i)(licen[cs]e|copying)(\.(md|txt|rst))?")


@dataclass(frozen=True, slots=True)
class PublishedAgent:
    """A row of an environment's page. result: its rating or score in words. licence: name of its file; may be empty."""

    name: str
    number: int
    owner: str
    team: str
    address: str
    result: str = ""
    licence: str = ""


@dataclass(frozen=True, slots=True)
class PublishedEnvironment:
    """An environment with its published agents, the best first. result_title: what their results are."""

    slug: str
    name: str
    address: str
    result_title: str
    agents: tuple[PublishedAgent, ...]


def root_page(site: str, address: str, environments: Sequence[PublishedEnvironment]) -> str:
    """Return the page at the top of the repository."""
    count = sum(len(environment.agents) for environment in environments)
    about = (
        f"Sources of the {count} public agents of [{plain(site)}]({address}), a folder each. "
        "The arena commits every new version; older ones are in the history."
    )
    rights = "Each agent belongs to its author. Where it has no licence, you may read it and nothing more."
    rows = (
        (f"[{plain(environment.name)}]({environment.slug}/README.md)", str(len(environment.agents)))
        for environment in environments
    )
    lines = [MARK, f"# Agents of {plain(site)}", "", about, "", rights, "", *table(("Environment", "Agents"), rows)]
    return "\n".join((*lines, ""))


def environment_page(environment: PublishedEnvironment) -> str:
    """Return the page of an environment's folder."""
    titles = ("Agent", "Version", "Owner", "Team", environment.result_title, "Licence", "In the arena")
    rows = (
        (
            f"[{plain(agent.name)}]({agent.name}/)",
            str(agent.number),
            plain(agent.owner),
            plain(agent.team),
            plain(agent.result),
            f"[{plain(agent.licence)}]({agent.name}/{agent.licence})" if agent.licence else "none",
            f"[page]({agent.address})",
        )
        for agent in environment.agents
    )
    about = f"The public agents of [{plain(environment.name)}]({environment.address}), the best first."
    return "\n".join((MARK, f"# {plain(environment.name)}", "", about, "", *table(titles, rows), ""))


def is_ours(page: str) -> bool:
    """Return whether a page may be written: there is none, or it is one of ours."""
    return not page or page.startswith(MARK)


def licence_of(names: Iterable[str]) -> str:
    """Return the name of the licence among the files at the top of an agent's folder; empty if there is none."""
    return next((name for name in sorted(names) if LICENCES.fullmatch(name)), "")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [
        f"| {' | '.join(titles)} |",
        f"|{'---|' * len(titles)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def plain(text: str) -> str:
    """Return text that Markdown shows as it is: one line, without links, code, pictures or HTML."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return PUNCTUATION.sub(r"\\\1", line)
