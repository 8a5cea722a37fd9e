"""Acting as an organiser."""

from __future__ import annotations

from django.contrib.messages import get_messages
from django.contrib.messages.storage.session import SessionStorage
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from core.models import (
    Duel,
    Environment,
    LedgerEntry,
    Submission,
)
from core.tests import factories
from core.tests.working import requested

REASON = "The clock of a worker was wrong."


def ready(people: factories.Cast, environment: Environment, name: str) -> Submission:
    row = factories.ready(factories.agent(people.alice, environment, name))
    row.image = f"player-{name}"
    row.save()
    return row


def act(client: Client, action: str, *rows: Model, **data: str) -> list[str]:
    """Do an action on rows as from their list, with the answer to its question; return what the page then says."""
    address = reverse("web:organise_actions", args=[rows[0]._meta.model_name, action])
    form = {"row": [row.pk for row in rows], **data}
    response = client.post(address, form)
    assert response.status_code == 302
    said = [str(message) for message in get_messages(response.wsgi_request)]
    # As if they had been read.
    session = client.session
    session.pop(SessionStorage.session_key, None)
    session.save()
    return said


def waiting_messages() -> list[tuple[str, int | str]]:
    """Task and argument of all messages that wait, oldest first."""
    return [(task, argument) for _, task, argument in requested()]


def enter_ledger(duel: Duel) -> LedgerEntry:
    return LedgerEntry.objects.create(
        duel=duel, submission=duel.player_1, opponent=duel.player_2, seat=0, wins=5, losses=0, draws=0, errors=0,
        opponent_errors=0, score=5,
    )  # fmt: skip
