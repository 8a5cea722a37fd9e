"""The actions that the site's pages offer, by the kind of row that stands in their address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from core.models import Agent, Alarm, Delivery, Duel, Environment, InviteLink, Tournament, User, Webhook, WorkerHost
from web.organise.action import OrganiserAction
from web.organise.actions.agents import AGENT_ACTIONS
from web.organise.actions.duels import DUEL_ACTIONS
from web.organise.actions.environments import ENVIRONMENT_ACTIONS
from web.organise.actions.operation import DELETE, DRAIN, SEND_AGAIN, SETTLE, TEST
from web.organise.actions.people import END_LINK, PEOPLE_ACTIONS
from web.organise.actions.tournaments import TOURNAMENT_ACTIONS


@dataclass(frozen=True, slots=True)
class RowKind:
    """A kind of row with its actions. related: what is read with a row."""

    name: str
    model: type[Model]
    actions: Sequence[OrganiserAction[Any]]
    related: tuple[str, ...]

    def action(self, name: str) -> OrganiserAction[Any] | None:
        return next((action for action in self.actions if action.name == name), None)


def _kind(model: type[Model], actions: Sequence[OrganiserAction[Any]], *related: str) -> RowKind:
    return RowKind(str(model._meta.model_name), model, actions, related)


KINDS = {
    kind.name: kind
    for kind in (
        _kind(Tournament, TOURNAMENT_ACTIONS, "environment"),
        _kind(Duel, DUEL_ACTIONS, "tournament__environment", "player_1__agent__environment", "player_2__agent", "void"),
        _kind(User, PEOPLE_ACTIONS),
        _kind(Agent, AGENT_ACTIONS, "environment", "owner"),
        _kind(Environment, ENVIRONMENT_ACTIONS),
        _kind(InviteLink, (END_LINK,)),
        _kind(Alarm, (SETTLE,)),
        _kind(WorkerHost, (DRAIN,)),
        _kind(Webhook, (TEST, DELETE)),
        _kind(Delivery, (SEND_AGAIN,), "webhook"),
    )
}
"""By the name of the model, in small letters."""


def kind_of(row: Model) -> RowKind:
    """Return the kind of a row. Raises KeyError for a row without actions."""
    return KINDS[str(row._meta.model_name)]
