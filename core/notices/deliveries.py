"""Deliveries: sends the events of `announce` to webhooks."""

from __future__ import annotations

import logging
import secrets
import time
import uuid
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from core.errors import Refused
from core.jobs.messages import DELIVERIES_TASK, task_request
from core.links import page
from core.models import Delivery, DeliveryState, EventKind, User, Webhook
from core.notices.alarms import alarm_raise, alarm_settle
from core.notices.outgoing import CannotReach, ReceiverAnswer, address_problem, post
from core.notices.payloads import Event, body_of, signature
from core.notices.services import delivery_create
from core.sealing import Unreadable
from core.version import arena_version

logger = logging.getLogger(__name__)

BATCH = 100
RUN_SECONDS = 60.0
"""Time after which a run leaves the rest to the next run, so that hanging receivers do not occupy a worker."""
MAX_ATTEMPTS = 10
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=30), timedelta(hours=1)
"""Pauses between attempts, doubled each time, about four hours in all. The first is longer than an attempt can take."""
GONE = 410
SWITCHED_OFF = "The webhook is switched off."


def deliveries_run(_: int = 0) -> None:
    """Try all deliveries that are due."""
    deliveries_send_due(now=timezone.now())


def deliveries_send_due(*, now: datetime) -> int:
    """Try the deliveries that are due for up to RUN_SECONDS; return how many were accepted."""
    due = Delivery.objects.filter(state=DeliveryState.WAITING, next_at__lte=now).order_by("next_at")
    began, taken = time.monotonic(), 0
    for key in list(due.values_list("pk", flat=True)[:BATCH]):
        seconds = time.monotonic() - began
        if seconds >= RUN_SECONDS:
            task_request("publish", DELIVERIES_TASK)
            break
        # Without these seconds the pause could end while the delivery is still under way.
        taken += delivery_send(delivery_id=key, now=now + timedelta(seconds=seconds))
    return taken


def delivery_send(*, delivery_id: int, now: datetime) -> bool:
    """Try a delivery that is due; return whether it was accepted. If two workers try at once, only one sends."""
    waiting = Delivery.objects.filter(pk=delivery_id, state=DeliveryState.WAITING, next_at__lte=now)
    row = waiting.select_related("webhook").first()
    if row is None:
        return False
    if not row.webhook.is_active:
        _end(row, DeliveryState.GIVEN_UP, now, error=SWITCHED_OFF)
        return False
    # If this worker dies, another one tries after the pause.
    row.next_at = now + pause_after(row.attempt + 1)
    if not waiting.filter(attempt=row.attempt).update(attempt=F("attempt") + 1, next_at=row.next_at):
        return False
    row.attempt += 1
    try:
        answer = _post(row)
    except CannotReach as error:
        _failed(row, now, error=str(error))
        return False
    except Exception as error:
        # An error in the arena's code must neither repeat forever nor stop the other deliveries.
        logger.exception("Delivery %s could not be tried.", row.pk)
        _failed(row, now, error=f"The arena could not send it: {type(error).__name__}.")
        return False
    if 200 <= answer.status < 300:
        _end(row, DeliveryState.DONE, now, response_code=answer.status, error="")
        alarm_settle(key=_alarm_key(row.webhook_id))
        return True
    _refused(row, answer, now)
    return False


def pause_after(attempt: int) -> timedelta:
    """Return the pause after a failed attempt, numbered from 1."""
    return min(FIRST_PAUSE * 2.0 ** min(attempt - 1, MAX_ATTEMPTS), LONGEST_PAUSE)


def delivery_send_again(*, delivery: Delivery) -> Delivery:
    """Send an event to its webhook again, under the same id. Raises Refused."""
    if delivery.state == DeliveryState.WAITING:
        raise Refused("It is already on its way.")
    if not delivery.webhook.is_active:
        raise Refused("Its webhook is switched off; switch it on first.")
    now = timezone.now()
    again = Delivery.objects.create(
        webhook=delivery.webhook,
        event_id=delivery.event_id,
        kind=delivery.kind,
        body=delivery.body,
        next_at=now,
        created_at=now,
    )
    task_request("publish", DELIVERIES_TASK)
    return again


def event_post(*, webhook: Webhook, event: Event) -> None:
    """Send an event to a webhook once and without a row, while the database stores none; a failure is logged."""
    try:
        _post(Delivery(webhook=webhook, event_id=event.id, kind=event.kind, body=body_of(event, webhook.format)))
    except CannotReach as error:
        logger.warning("The event %s did not reach webhook %s: %s", event.title, webhook.pk, error)


def webhook_test(*, webhook: Webhook) -> Delivery:
    """Send a test event to a webhook. Raises Refused."""
    if not webhook.is_active:
        raise Refused("It is switched off; switch it on first.")
    event = Event(
        id=uuid.uuid4(),
        kind=EventKind.TEST,
        at=timezone.now(),
        title="A test",
        text="If you can read this, events of the arena arrive here.",
        address=page("home"),
        environment=webhook.environment,
        data={},
    )
    return delivery_create(webhook=webhook, event=event)


def webhook_prepare(*, webhook: Webhook, created_by: User) -> str:
    """Give a new webhook its secret and return it; it is shown only once. Raises Refused for a bad address."""
    if problem := address_problem(webhook.secret_url):
        raise Refused(problem, field="secret_url")
    webhook.secret, webhook.created_by = secrets.token_urlsafe(32), created_by
    return webhook.secret


def webhook_delete(*, webhook: Webhook) -> None:
    """Delete a webhook with its deliveries."""
    key = webhook.pk
    webhook.delete()
    webhook_forget(webhook_id=key)


def webhook_forget(*, webhook_id: int) -> None:
    """Settle the alarm of a webhook that was deleted, because no later delivery can settle it."""
    alarm_settle(key=_alarm_key(webhook_id))


def _post(row: Delivery) -> ReceiverAnswer:
    if isinstance(row.webhook.secret_url, Unreadable):
        raise CannotReach("Its address was stored with another SECRET_KEY. Delete this webhook and add it anew.")
    at = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"rl-arena/{arena_version()}",
        "X-Arena-Event": row.kind,
        "X-Arena-Event-Id": str(row.event_id),
        "X-Arena-Signature": signature(row.webhook.secret, row.body, at),
    }
    return post(row.webhook.secret_url, body=row.body.encode(), headers=headers)


def _refused(row: Delivery, answer: ReceiverAnswer, now: datetime) -> None:
    if answer.status == GONE:
        is_there = Webhook.objects.filter(pk=row.webhook_id).update(is_active=False) > 0
        _end(row, DeliveryState.GIVEN_UP, now, response_code=GONE, error="The receiver says that it is gone for good.")
        if is_there:
            _alarm(row.webhook, "was switched off: its receiver answered 410, gone for good.")
        return
    if 300 <= answer.status < 400:
        error = "The address redirects, which is not followed: enter the final address."
    else:
        error = " ".join(answer.text.replace("\x00", "").split())
    wait = min(timedelta(seconds=answer.retry_after_seconds), LONGEST_PAUSE)
    _failed(row, now, error=error, response_code=answer.status, wait=wait)


def _failed(
    row: Delivery, now: datetime, *, error: str, response_code: int | None = None, wait: timedelta = timedelta()
) -> None:
    said = error or f"answer {response_code}"
    logger.warning("Delivery %s to webhook %s failed: %s", row.pk, row.webhook_id, response_code or error)
    if row.attempt >= MAX_ATTEMPTS:
        if _end(row, DeliveryState.GIVEN_UP, now, response_code=response_code, error=error):
            _alarm(row.webhook, f"did not accept an event in {row.attempt} attempts: {said[:200]}")
        return
    next_at = max(row.next_at or now, now + wait)
    _same(row).update(next_at=next_at, response_code=response_code, error=error[:200])


def _end(row: Delivery, state: DeliveryState, now: datetime, **fields: object) -> bool:
    """End a delivery; return False if it was deleted with its webhook meanwhile."""
    if isinstance(error := fields.get("error"), str):
        fields["error"] = error[:200]
    return _same(row).update(state=state, next_at=None, done_at=now, **fields) > 0


def _same(row: Delivery) -> QuerySet[Delivery]:
    return Delivery.objects.filter(pk=row.pk, state=DeliveryState.WAITING, attempt=row.attempt)


def _alarm_key(webhook_id: int) -> str:
    return f"webhook-{webhook_id}-fails"


def _alarm(webhook: Webhook, what: str) -> None:
    with transaction.atomic():
        alarm_raise(
            key=_alarm_key(webhook.pk),
            message=f"The webhook {webhook.name} {what}",
            address=page("webhooks"),
        )
