"""From words to what they mean: the agent of a batch, the application of a file."""

from __future__ import annotations

from typing import Any

from arena_kit.rollout.tasks.file import MOST_BYTES
from arena_kit.rollout.values.strict_json import NotJson, read_json
from core.errors import Refused
from core.models import Environment, LanguageModel, RolloutAgent, Submission, User
from core.people.rights import may
from core.rollouts.batches import AgentChoice
from core.rollouts.permissions import OTHERS, models_for

ORACLE, NOTHING, AGENT = "oracle", "nothing", "agent:"


def agent_chosen(*, owner: User, environment: Environment, word: str = "", **config: Any) -> AgentChoice:
    """Return the agent that a word means: a language model by its name, `agent:NAME`, `oracle` or `nothing`.

    Without a word it is the first model that the person may use. config: vision, temperature, prompt. Raises Refused.
    """
    if word in (ORACLE, NOTHING):
        kind = RolloutAgent.SCRIPTED if word == ORACLE else RolloutAgent.NULL
        return AgentChoice(kind, **config)
    if word.startswith(AGENT):
        name, _, model = word.removeprefix(AGENT).partition("@")
        chosen = model_named(owner, model) if model else None
        submission = submission_named(owner, environment, name)
        return AgentChoice(RolloutAgent.SUBMISSION, submission=submission, model=chosen, **config)
    return AgentChoice(RolloutAgent.MODEL, model=model_named(owner, word), **config)


def model_named(owner: User, name: str) -> LanguageModel:
    """Return a language model that a person may use; without a name the first one. Raises Refused."""
    rows = models_for(owner)
    found = rows.filter(name=name).first() if name else rows.order_by("pk").first()
    if found is None:
        known = ", ".join(rows.values_list("name", flat=True))
        asked = f"There is no model {name} that you may use" if name else "There is no model that you may use"
        others = f"You may use {known}." if known else "Choose agent:NAME, oracle or nothing instead."
        raise Refused(f"{asked}. {others}", field="model", code="no_model")
    return found


def submission_named(owner: User, environment: Environment, name: str) -> Submission:
    """Return the newest version of a person's agent that is built; organisers may name any. Raises Refused."""
    rows = Submission.objects.filter(agent__environment=environment, agent__name__iexact=name, deleted_at=None)
    if not may(owner, OTHERS):
        rows = rows.filter(agent__owner=owner)
    found = rows.exclude(image="").select_related("agent__owner", "agent__environment").order_by("-number").first()
    if found is None:
        raise Refused(f"You have no agent {name} with a built version here.", field="model", code="no_agent")
    return found


def slug_in(data: bytes) -> str:
    """Return the application that a file of tasks names; empty if it names none or cannot be read."""
    try:
        document = read_json(data, most_bytes=MOST_BYTES)
    except NotJson:
        return ""
    named = document.get("environment", "") if isinstance(document, dict) else ""
    return named if isinstance(named, str) else ""
