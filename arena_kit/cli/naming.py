"""How commands name what is on a site: ids, or names as people read them on pages."""

from __future__ import annotations

import re

from arena_kit.cli.common import BadArgument
from arena_kit.client import Client, SiteError, Trouble
from arena_kit.client.answers import AgentRow, Version
from arena_kit.text import plain_line

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
VERSION_HELP = "id of a version, or ENVIRONMENT/AGENT for its newest, ENVIRONMENT/AGENT/N for version N"
OWN_VERSION_HELP = f"{VERSION_HELP}, or the name of one of your agents for its newest"
AGENT_HELP = "id of an agent, ENVIRONMENT/AGENT, or the name of one of yours"


def is_public_id(word: str) -> bool:
    """Return whether a word is the id of a version."""
    return _UUID.fullmatch(word) is not None


def agent_named(client: Client, word: str) -> AgentRow | int:
    """Return an agent by its id or its name. Raises BadArgument and SiteError.

    For a number, the number: the site checks whether there is such an agent.
    """
    if word.isascii() and word.isdigit() and len(word) < 18:
        return int(word)
    environment, slash, name = word.partition("/")
    own = {"environment": environment} if slash else {"owner": client.username()}
    found = _called(client, name if slash else word, **own)
    if not found:
        whose = f"in {plain_line(environment)}" if slash else "of yours"
        raise SiteError(f"There is no agent {plain_line(name if slash else word)!r} {whose}.", trouble=Trouble.MISSING)
    if len(found) > 1:
        places = ", ".join(f"{one.environment}/{one.name}" for one in found)
        raise BadArgument(f"{word} names more than one agent. Say which: {places}.")
    return found[0]


def version_named(client: Client, word: str) -> Version:
    """Return a version by its id or by names. Raises BadArgument and SiteError."""
    if is_public_id(word):
        return client.version(word)
    parts = word.split("/")
    if len(parts) > 3 or not all(parts) or (len(parts) == 3 and not parts[2].isdecimal()):
        raise BadArgument(f"{plain_line(word)} is not a version that the site knows. Give the {OWN_VERSION_HELP}.")
    agent = agent_named(client, "/".join(parts[:2]))
    number = agent if isinstance(agent, int) else agent.id
    for public_id in client.versions(number):
        version = client.version(public_id)
        if len(parts) < 3 or version.number == int(parts[2]):
            return version
    raise SiteError(f"There is no such version: {plain_line(word)}.", trouble=Trouble.MISSING)


def _called(client: Client, name: str, *, environment: str = "", owner: str = "") -> list[AgentRow]:
    lines = client.agents(environment=environment, owner=owner, name=name)
    return [line for line in lines if line.name.casefold() == name.casefold()]
