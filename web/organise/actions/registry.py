"""The actions that the site's pages offer, by the kind of row that stands in their address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from core.jobs.kinds import JOB_MODELS
from core.models import (
    Agent,
    Alarm,
    ApiToken,
    Batch,
    Build,
    Delivery,
    Duel,
    Environment,
    EnvironmentTrial,
    Evaluation,
    InviteLink,
    Job,
    Package,
    Participant,
    Publication,
    Recording,
    Season,
    SeedList,
    Submission,
    Tournament,
    TournamentSchedule,
    User,
    Validation,
    Webhook,
    WorkerHost,
)
from web.organise.action import OrganiserAction
from web.organise.actions.agents import AGENT_ACTIONS, VERSION_ACTIONS
from web.organise.actions.applications import CANCEL_BATCH, PACKAGE_ACTIONS
from web.organise.actions.duels import DUEL_ACTIONS
from web.organise.actions.environments import ENVIRONMENT_ACTIONS, REVEAL
from web.organise.actions.folders import FOLDER_ACTIONS
from web.organise.actions.jobs import BUILD_AGAIN, EVALUATE_AGAIN, JOB_ACTIONS, PUBLISH_AGAIN
from web.organise.actions.operation import DELETE, DRAIN, SEND_AGAIN, SETTLE, TEST
from web.organise.actions.participants import PARTICIPANT_ACTIONS
from web.organise.actions.people import END_LINK, PEOPLE_ACTIONS, REVOKE
from web.organise.actions.tournaments import DELETE_SCHEDULE, DELETE_SEASON, TOURNAMENT_ACTIONS


@dataclass(frozen=True, slots=True)
class RowKind:
    """A kind of row with its actions. related: what is read with a row."""

    name: str
    model: type[Model]
    actions: Sequence[OrganiserAction[Any]]
    related: tuple[str, ...]

    def action(self, name: str) -> OrganiserAction[Any] | None:
        return next((action for action in self.actions if action.name == name), None)


JOBS: dict[type[Job], Sequence[OrganiserAction[Any]]] = {
    Build: (*JOB_ACTIONS, BUILD_AGAIN),
    Validation: (*JOB_ACTIONS, BUILD_AGAIN),
    Evaluation: (*JOB_ACTIONS, EVALUATE_AGAIN),
    Publication: (*JOB_ACTIONS, PUBLISH_AGAIN),
    Duel: DUEL_ACTIONS,
    EnvironmentTrial: (*FOLDER_ACTIONS, *JOB_ACTIONS),
}
"""The actions on kinds of jobs that have more than those of every job."""


def _kind(model: type[Model], actions: Sequence[OrganiserAction[Any]], *related: str) -> RowKind:
    return RowKind(str(model._meta.model_name), model, actions, related)


def _read_with(model: type[Job]) -> tuple[str, ...]:
    """Return what the name of a job, its owner and its actions read."""
    more = {Duel: ("void", "tournament"), Recording: ("evaluation__submission__agent",)}
    return tuple(dict.fromkeys((*model.RELATED, model.ENVIRONMENT, model.OWNER, *more.get(model, ()))))


KINDS = {
    kind.name: kind
    for kind in (
        _kind(Tournament, TOURNAMENT_ACTIONS, "environment"),
        _kind(Participant, PARTICIPANT_ACTIONS, "tournament__environment", "submission__agent__owner"),
        _kind(User, PEOPLE_ACTIONS),
        _kind(Agent, AGENT_ACTIONS, "environment", "owner"),
        _kind(Environment, ENVIRONMENT_ACTIONS),
        _kind(InviteLink, (END_LINK,)),
        _kind(Alarm, (SETTLE,)),
        _kind(WorkerHost, (DRAIN,)),
        _kind(Webhook, (TEST, DELETE)),
        _kind(Delivery, (SEND_AGAIN,), "webhook"),
        _kind(Season, (DELETE_SEASON,), "environment"),
        _kind(TournamentSchedule, (DELETE_SCHEDULE,), "environment"),
        _kind(SeedList, (REVEAL,), "environment", "tournament__environment"),
        _kind(ApiToken, (REVOKE,), "owner"),
        _kind(Submission, VERSION_ACTIONS, "agent__environment", "agent__owner"),
        _kind(Package, PACKAGE_ACTIONS, "environment"),
        _kind(Batch, (CANCEL_BATCH,), "environment"),
        *(_kind(model, JOBS.get(model, JOB_ACTIONS), *_read_with(model)) for model in JOB_MODELS.values()),
    )
}
"""By the name of the model, in small letters."""


def kind_of(row: Model) -> RowKind:
    """Return the kind of a row. Raises KeyError for a row without actions."""
    return KINDS[str(row._meta.model_name)]
