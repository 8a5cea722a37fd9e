"""Events on their way to other programs: a receiver that really listens, and addresses that must not be reached."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.fixtures import Settings

from core.jobs.bells import DELIVERIES_TASK
from core.models import Alarm, AuditEntry, Delivery, EventKind, Webhook
from core.notices import outgoing
from core.notices.alarms import alarm_raise
from core.notices.deliveries import (
    LONGEST_PAUSE,
    MAX_ATTEMPTS,
    deliveries_send_due,
    delivery_send,
    delivery_send_again,
    webhook_test,
)
from core.notices.outgoing import CannotReach, ReceiverAnswer, post, wait_seconds
from core.notices.payloads import DISCORD_TEXT, Event, body_of, signature
from core.notices.services import announce
from core.tests import factories
from core.tests.concurrency import at_once
from core.tests.organising import act
from core.tests.working import bells

SECRET = "the-secret-of-the-hook"


@dataclass
class Receiver:
    """What listens on loopback: the answers it gives, one after the other (then 204), and what it was sent."""

    port: int
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    heard: list[tuple[dict[str, str], str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/hook?key=7"


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.WEBHOOKS_OVER_HTTP = settings.WEBHOOKS_TO_PRIVATE = True

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            made.heard.append((dict(self.headers), body))
            status, headers = made.answers.pop(0) if made.answers else (204, {})
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = HTTPServer(("localhost", 0), Handler)
    made = Receiver(server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def hook(url: str, **fields: Any) -> Webhook:
    values = {"name": "chat", "secret": SECRET, "kinds": [kind.value for kind in EventKind]}
    return Webhook.objects.create(**values | {"secret_url": url} | fields)


@pytest.mark.django_db
def test_an_event_is_signed_and_tried_again_until_it_is_taken(receiver: Receiver) -> None:
    receiver.answers = [(500, {}), (302, {"Location": "http://elsewhere.example/"})]
    hook(receiver.url)
    game = factories.environment()
    announce(
        kind=EventKind.LEADER_CHANGED, environment=game, title="anna leads", text="Grüße", address="/", data={"n": 1}
    )
    now = timezone.now()

    assert deliveries_send_due(now=now) == 0
    row = Delivery.objects.get()
    assert (row.state, row.attempt, row.response_code) == ("WAITING", 1, 500)
    assert row.next_at is not None
    # Counted from its own attempt, not from the begin of the run.
    assert row.next_at - now >= timedelta(seconds=30)
    assert deliveries_send_due(now=now) == 0
    assert deliveries_send_due(now=row.next_at) == 0
    row.refresh_from_db()
    assert row.next_at - now >= timedelta(seconds=90)
    # Redirects are not followed.
    assert (row.attempt, row.response_code, len(receiver.heard)) == (2, 302, 2)
    assert deliveries_send_due(now=row.next_at) == 1
    row.refresh_from_db()
    assert (row.state, row.attempt, row.response_code, row.error) == ("DONE", 3, 204, "")

    headers, body = receiver.heard[-1]
    at, digest = (part.partition("=")[2] for part in headers["X-Arena-Signature"].split(","))
    assert hmac.new(SECRET.encode(), f"{at}.{body}".encode(), hashlib.sha256).hexdigest() == digest
    sent = json.loads(body)
    assert {headers["X-Arena-Event-Id"] for headers, _ in receiver.heard} == {sent["id"]}
    assert (sent["kind"], sent["text"], sent["environment"]["slug"]) == ("LEADER_CHANGED", "Grüße", "tic-tac-toe")
    assert sent["data"] == {"n": 1}


@pytest.mark.django_db(transaction=True)
def test_workers_that_deliver_at_once_send_once(receiver: Receiver) -> None:
    row = webhook_test(webhook=hook(receiver.url))
    now = timezone.now()
    assert sum(at_once(*[lambda: delivery_send(delivery_id=row.pk, now=now)] * 4)) == 1
    assert len(receiver.heard) == 1


@pytest.mark.django_db
def test_who_is_gone_is_switched_off_and_who_never_answers_is_given_up(receiver: Receiver) -> None:
    receiver.answers = [(410, {})]
    row = hook(receiver.url)
    webhook_test(webhook=row)
    deliveries_send_due(now=timezone.now())
    row.refresh_from_db()
    assert not row.is_active
    assert announce(kind=EventKind.ALARM, title="x", text="y") == []
    assert "410" in Alarm.objects.get().message

    other = hook(receiver.url, name="other")
    late = webhook_test(webhook=other)
    Delivery.objects.filter(pk=late.pk).update(attempt=MAX_ATTEMPTS - 1)
    receiver.answers = [(429, {"Retry-After": "9"})]
    deliveries_send_due(now=timezone.now())
    late.refresh_from_db()
    assert (late.state, late.response_code) == ("GIVEN_UP", 429)
    alarm = Alarm.objects.get(key=f"webhook-{other.pk}-fails")

    # Sent again it arrives, under the same id, and the trouble is over. The alarm itself was news, too.
    delivery_send_again(delivery=late)
    assert deliveries_send_due(now=timezone.now()) >= 1
    alarm.refresh_from_db()
    assert alarm.settled_at is not None
    assert str(late.event_id) in {headers["X-Arena-Event-Id"] for headers, _ in receiver.heard}


@pytest.mark.django_db
def test_an_alarm_is_told_once_and_only_to_who_wants_to_hear(receiver: Receiver) -> None:
    hook(receiver.url, kinds=["ALARM"])
    hook(receiver.url, name="results", kinds=["TOURNAMENT_ENDED"])
    for _ in range(2):
        alarm_raise(key="disk", message="It is full.")
    assert [row.webhook.name for row in Delivery.objects.all()] == ["chat"]


def test_a_name_that_leads_behind_the_wall_is_not_asked(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """Also where the name stands for a public address as well, and where it leads elsewhere a moment later."""
    settings.WEBHOOKS_OVER_HTTP = True
    asked: list[str] = []
    answers = [["93.184.216.34", "127.0.0.1"], ["93.184.216.34"], ["127.0.0.1"]]

    def resolve(host: str, port: int, **_: object) -> list[Any]:
        asked.append(host)
        found = answers.pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    reached: list[Any] = []

    class Recorded(socket.socket):
        def connect(self, address: Any) -> None:
            reached.append(address)
            raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "socket", Recorded)
    with pytest.raises(CannotReach, match="not on the public internet"):
        post("http://evil.example/", body=b"", headers={})
    assert reached == []
    with pytest.raises(CannotReach, match="Connection refused"):
        post("http://evil.example/", body=b"", headers={})
    # The address that was looked at is the one that is called: the name is asked once.
    assert (reached, len(asked)) == ([("93.184.216.34", 80)], 2)


def test_who_answers_too_slowly_is_left(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.WEBHOOKS_OVER_HTTP = settings.WEBHOOKS_TO_PRIVATE = True
    monkeypatch.setattr(outgoing, "DEADLINE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(CannotReach, match="too long"):
        post(f"http://127.0.0.1:{silent.getsockname()[1]}/", body=b"", headers={})


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 1000.0
        monkeypatch.setattr("time.monotonic", lambda: self.seconds)


@pytest.mark.parametrize(("slow", "tried"), [("names", 0), ("addresses", 3), ("nothing", 4)])
def test_the_time_for_a_name_and_its_addresses_is_counted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, slow: str, tried: int
) -> None:
    settings.WEBHOOKS_OVER_HTTP = True
    clock, limits = Clock(monkeypatch), []

    def resolve(host: str, port: int, **_: object) -> list[Any]:
        clock.seconds += 15 if slow == "names" else 1
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"93.184.216.{last}", port)) for last in range(50)]

    class Silent(socket.socket):
        def connect(self, address: Any) -> None:
            limits.append(self.gettimeout())
            clock.seconds += self.gettimeout() or 0 if slow == "addresses" else 0
            raise TimeoutError

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "socket", Silent)
    with pytest.raises(CannotReach, match="too long"):
        post("http://slow.example/", body=b"", headers={})
    # A second for the name, and 5 s for each address, of 15.
    assert limits == ([5, 5, 4] if slow == "addresses" else [5] * tried)


def test_who_is_reached_when_the_time_is_over_is_asked_nothing(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = socket.socket.connect

    class Late(socket.socket):
        def connect(self, address: Any) -> None:
            connect(self, address)
            clock.seconds += outgoing.DEADLINE_SECONDS

    clock = Clock(monkeypatch)
    monkeypatch.setattr(socket, "socket", Late)
    with pytest.raises(CannotReach, match="too long"):
        post(receiver.url.replace("localhost", "127.0.0.1"), body=b"", headers={})
    assert receiver.heard == []


@pytest.mark.django_db
def test_a_run_leaves_what_it_has_no_time_for_to_the_next_one(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    for number in range(5):
        webhook_test(webhook=hook("https://a.example/", name=str(number)))
    OrmQ.objects.all().delete()
    clock = Clock(monkeypatch)

    def hang(*_: object, **__: object) -> ReceiverAnswer:
        clock.seconds += 25
        raise CannotReach("It took too long.")

    monkeypatch.setattr("core.notices.deliveries.post", hang)
    now = timezone.now()
    with django_capture_on_commit_callbacks(execute=True):
        deliveries_send_due(now=now)
    rows = list(Delivery.objects.order_by("pk"))
    assert [row.attempt for row in rows] == [1, 1, 1, 0, 0]
    # The pause of each begins with its own attempt, so no other worker takes it meanwhile.
    assert [row.next_at for row in rows[:3]] == [now + timedelta(seconds=seconds) for seconds in (30, 55, 80)]
    assert bells() == [("publish", DELIVERIES_TASK, 0)]


@pytest.mark.django_db
def test_the_alarm_of_a_webhook_that_is_deleted_is_settled(receiver: Receiver, organiser: Client) -> None:
    receiver.answers = [(410, {})]
    row = hook(receiver.url)
    webhook_test(webhook=row)
    deliveries_send_due(now=timezone.now())
    assert Alarm.objects.get().settled_at is None
    act(organiser, "delete", row)
    assert not Webhook.objects.exists()
    assert Alarm.objects.get().settled_at is not None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("9", 9),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 600),
        ("Wed, 21 Oct 2026 07:28:00 -0000", 600),
        ("Wed, 21 Oct 2026 07:18:00 GMT", 0),
        ("Wed, 21 Okt 2026", 0),
        ("", 0),
    ],
)
def test_a_pause_may_be_asked_for_in_seconds_or_until_a_moment(header: str, seconds: int) -> None:
    assert wait_seconds(header, datetime(2026, 10, 21, 7, 18, tzinfo=UTC).timestamp()) == seconds


@pytest.mark.django_db
@pytest.mark.parametrize("wait", ["9" * 20, "9" * 5000, "99999999", "Fri, 31 Dec 9999 23:59:59 GMT", "-1", "²"])
def test_a_receiver_that_asks_for_a_pause_of_ages_is_tried_again_and_given_up(receiver: Receiver, wait: str) -> None:
    receiver.answers = [(503, {"Retry-After": wait.encode().decode("latin-1")})] * 2
    row = webhook_test(webhook=hook(receiver.url))
    now = timezone.now()
    assert not delivery_send(delivery_id=row.pk, now=now)
    row.refresh_from_db()
    assert row.next_at in {now + timedelta(seconds=30), now + LONGEST_PAUSE}
    Delivery.objects.update(attempt=MAX_ATTEMPTS - 1, next_at=now)
    assert not delivery_send(delivery_id=row.pk, now=now)
    row.refresh_from_db()
    assert (row.state, row.response_code) == ("GIVEN_UP", 503)


@pytest.mark.django_db
def test_a_mistake_of_the_arena_is_a_failed_attempt_and_the_next_is_sent(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = webhook_test(webhook=hook(receiver.url, name="one", secret="odd"))
    second = webhook_test(webhook=hook(receiver.url, name="two"))
    # From attempt 43 on the pause itself was too long a number once.
    Delivery.objects.filter(pk=first.pk).update(attempt=10_000)

    def broken(secret: str, body: str, at: int) -> str:
        if secret == "odd":
            raise OverflowError
        return signature(secret, body, at)

    monkeypatch.setattr("core.notices.deliveries.signature", broken)
    assert deliveries_send_due(now=timezone.now()) == 1
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, first.error) == ("GIVEN_UP", "The arena could not send it: OverflowError.")
    assert second.state == "DONE"


def test_chats_get_their_own_forms_without_mentions() -> None:
    event = Event(
        uuid.UUID(int=1), EventKind.TOURNAMENT_ENDED, factories.NOON, "<!channel> & *won*", "@everyone " + "x" * 5000,
        "/environments/a/", None, {},
    )  # fmt: skip
    discord, slack = json.loads(body_of(event, "DISCORD")), json.loads(body_of(event, "SLACK"))
    assert discord["allowed_mentions"] == {"parse": []}
    assert discord["embeds"][0]["title"] == r"\<!channel\> & \*won\*"
    assert len(discord["embeds"][0]["description"]) == DISCORD_TEXT
    assert slack["text"] == "&lt;!channel&gt; &amp; *won*"
    assert slack["blocks"][0]["text"]["text"].endswith("/environments/a/|&lt;!channel&gt; &amp; *won*>")
    assert (slack["blocks"][1]["text"]["type"], len(slack["blocks"][1]["text"]["text"])) == ("plain_text", 3000)


@pytest.mark.django_db
def test_organisers_see_a_secret_once_and_nothing_of_it_is_written_down(client: Client) -> None:
    client.force_login(factories.cast().olga)
    form = {"name": "chat", "format": "GENERIC", "secret_url": "https://hooks.example/t0ken", "kinds": ["ALARM"],
            "is_active": "on", "environment": ""}  # fmt: skip
    page = client.post("/organise/webhooks/add/", form, follow=True)
    row = Webhook.objects.get()
    assert row.secret in page.content.decode()
    later = [
        client.get(f"/organise/webhooks/{row.pk}/"),
        client.get("/organise/webhooks/"),
        client.get(f"/admin/core/webhook/{row.pk}/change/"),
    ]
    # An empty address is the one from before.
    client.post(f"/organise/webhooks/{row.pk}/", {**form, "secret_url": "", "name": "talk"})
    row.refresh_from_db()
    assert (row.name, row.secret_url) == ("talk", "https://hooks.example/t0ken")
    assert "is on its way" in act(client, "send_test", row)[-1]
    assert Delivery.objects.get().kind == "TEST"
    written = str(list(AuditEntry.objects.values()))
    assert "send_test" in written
    for text in (*(answer.content.decode() for answer in later), written):
        assert row.secret not in text
        assert "t0ken" not in text
