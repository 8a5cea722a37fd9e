"""Actions on alarms, hosts of workers, webhooks and their deliveries."""

from __future__ import annotations

from core.errors import Refused
from core.models import Alarm, Delivery, DeliveryState, HostState, Webhook, WorkerHost
from core.notices.alarms import alarm_settle
from core.notices.deliveries import delivery_send_again, webhook_delete, webhook_test
from core.operations.scaling.scaler import host_drain
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion


def _settle(alarm: Alarm, answer: OrganiserAnswer) -> str:
    alarm_settle(key=alarm.key)
    return "is settled."


def _drain(host: WorkerHost, answer: OrganiserAnswer) -> str:
    if not host_drain(host=host, reason=f"Drained by {answer.user}."):
        raise Refused(f"The host is {HostState(host.state).label}.")
    return "is drained."


def _test(webhook: Webhook, answer: OrganiserAnswer) -> str:
    return f"a test is on its way. Delivery {webhook_test(webhook=webhook).pk} shows its result."


def _delete(webhook: Webhook, answer: OrganiserAnswer) -> str:
    webhook_delete(webhook=webhook)
    return "is deleted, with its deliveries."


def _send_again(delivery: Delivery, answer: OrganiserAnswer) -> str:
    return f"is sent again, as delivery {delivery_send_again(delivery=delivery).pk}."


SETTLE = OrganiserAction(
    name="settle",
    label="Settle: the cause has been dealt with",
    button="Settle",
    do=_settle,
    fits=lambda alarm: alarm.settled_at is None,
)
DRAIN = OrganiserAction(
    name="drain",
    label="Drain: finish what runs, then remove the host",
    button="Drain",
    do=_drain,
    fits=lambda host: host.state == HostState.READY,
)
TEST = OrganiserAction(
    name="send_test",
    label="Send a test",
    button="Send a test",
    do=_test,
    fits=lambda webhook: webhook.is_active,
)
DELETE = OrganiserAction(
    name="delete",
    label="Delete",
    button="Delete",
    do=_delete,
    question=OrganiserQuestion(
        title="Delete a webhook",
        consequence="The webhook and the list of its deliveries are deleted. Events that wait for it are not sent.",
        button="Delete",
    ),
    right="delete",
)
SEND_AGAIN = OrganiserAction(
    name="send_again",
    label="Send again",
    button="Send again",
    do=_send_again,
    fits=lambda delivery: delivery.state != DeliveryState.WAITING,
)
