"""New names for agents. The address of the old name leads on."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from core.errors import Refused
from core.models import Agent, Environment, FormerName, User
from core.models.agent import agent_name

NAME_TAKEN = "Another agent with this name already exists. Please try a different one."
NAME_OWN = "You have an agent of this name: upload a new version of it, or give the new agent another name."


def name_check(*, environment: Environment, owner: User, name: str, agent: Agent | None = None) -> None:
    """Refuse a name that another agent has or had. agent: the one that is to get it; None for a new one."""
    namesake = Agent.objects.filter(environment=environment, name__iexact=name).first()
    if namesake is not None and namesake != agent:
        raise Refused(NAME_OWN if namesake.owner_id == owner.pk and agent is None else NAME_TAKEN, field="name")
    former = FormerName.objects.filter(environment=environment, name__iexact=name).first()
    if former is not None and former.agent_id != (agent and agent.pk):
        raise Refused(NAME_TAKEN, field="name")


def agent_rename(*, agent: Agent, name: str) -> None:
    """Give an agent another name. Raises Refused for one that is taken or cannot be a name."""
    if name == agent.name:
        return
    try:
        agent_name(name)
    except ValidationError as error:
        raise Refused(error.messages[0], field="name") from None
    try:
        with transaction.atomic():
            row = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
            name_check(environment=agent.environment, owner=agent.owner, name=name, agent=agent)
            FormerName.objects.filter(environment=agent.environment_id, name__iexact=name).delete()
            if row.name.lower() != name.lower():
                FormerName.objects.get_or_create(environment_id=row.environment_id, agent=row, name=row.name)
            agent.name = name
            agent.save(update_fields=["name"])
    except IntegrityError:
        # Another account has just taken the name.
        raise Refused(NAME_TAKEN, field="name") from None


def agent_once_named(environment_slug: str | None, name: str) -> Agent | None:
    """Return the agent that had a name, in any case. environment_slug: None for any environment."""
    # PostgreSQL refuses strings with a null character.
    rows = FormerName.objects.none() if "\x00" in name else FormerName.objects.filter(name__iexact=name)
    if environment_slug is not None:
        rows = rows.filter(environment__slug=environment_slug)
    found = rows.select_related("agent__environment").first()
    return None if found is None else found.agent


def agents_forget(*, owner: User) -> None:
    """Rename the agents of a person whose names contain the person's, and forget their former names."""
    words = "-".join(filter(None, "".join(one if one.isalnum() else " " for one in owner.username).split())).lower()
    for agent in owner.agents.all():
        if words and words in agent.name.lower():
            agent_forget(agent=agent)
    FormerName.objects.filter(agent__owner=owner).delete()


def agent_forget(*, agent: Agent) -> None:
    """Give an agent a name that tells nothing, so that all its names are free."""
    agent.name = f"deleted-agent-{agent.pk}"
    agent.save(update_fields=["name"])
    agent.former_names.all().delete()
