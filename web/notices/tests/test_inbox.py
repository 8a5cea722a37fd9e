"""The inbox, the settings beside it, and the link that stops mails."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from core.models import Notice, NoticeKind
from core.notices.mails import unsubscribe_token
from core.notices.selectors import choice_list
from core.notices.services import notify
from core.tests.factories import Cast

pytestmark = pytest.mark.django_db


def logged_in(person: object) -> Client:
    client = Client()
    client.force_login(person)  # type: ignore[arg-type]
    return client


def text(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def test_unread_notices_are_counted_in_the_head_until_they_are_read(cast: Cast) -> None:
    alice, bob = logged_in(cast.alice), logged_in(cast.bob)
    assert "You have no notices yet." in text(alice, "/inbox/")
    for n in range(3):
        notify(user=cast.alice, kind=NoticeKind.VALIDATED, title=f"<b>v{n}</b>", text="a\n<script>", address="/status/")
    page = text(alice, "/")
    assert '<span class="count">3<span class="sr"> unread</span></span>' in page
    assert 'class="count"' not in text(bob, "/")
    assert "&lt;b&gt;v2&lt;/b&gt;" in (inbox := text(alice, "/inbox/"))
    assert "a<br>&lt;script&gt;" in inbox

    first = Notice.objects.earliest("pk")
    assert bob.post(f"/inbox/{first.pk}/read/").status_code == 404
    assert alice.post(f"/inbox/{first.pk}/read/", {"open": ""})["Location"] == "/status/"
    assert '"count">2<' in text(alice, "/")
    # Who goes by keyboard goes on from the notice that was read.
    address = alice.post(f"/inbox/{first.pk}/read/", {"page": "2"})["Location"]
    assert address == f"/inbox/?page=2#notice-{first.pk}"
    assert f'id="notice-{first.pk}"' in inbox
    alice.post("/inbox/read/")
    assert 'class="count"' not in (inbox := text(alice, "/inbox/"))
    assert "Mark all as read" not in inbox


def test_notices_that_lead_to_one_page_stand_together(cast: Cast) -> None:
    for number, address in enumerate(("/a/", "/b/", "/a/", "", "/a/", "")):
        notify(user=cast.alice, kind=NoticeKind.VALIDATED, title=f"notice {number}", text="", address=address)
    page = text(logged_in(cast.alice), "/inbox/")
    titles = re.findall(r"</span>(notice \d)</h2>|(\d earlier about the same)", page)
    assert [one or other for one, other in titles] == [
        "notice 5", "notice 4", "2 earlier about the same", "notice 2", "notice 0", "notice 3", "notice 1"
    ]  # fmt: skip


def test_ten_groups_are_shown_and_the_earlier_ones_are_folded(cast: Cast) -> None:
    for number in range(10):
        notify(user=cast.alice, kind=NoticeKind.VALIDATED, title=f"notice {number}.", text="", address=f"/{number}/")
    alice = logged_in(cast.alice)
    assert 'id="earlier"' not in text(alice, "/inbox/")
    for address in ("/0/", "/new/", "/other/"):
        notify(user=cast.alice, kind=NoticeKind.VALIDATED, title=f"late {address}", text="", address=address)
    first, _, folded = text(alice, "/inbox/").partition('<details id="earlier">')
    assert "<summary>Show 2 earlier</summary>" in folded
    assert re.findall(r"notice \d(?=\.</h2>)", folded) == ["notice 2", "notice 1"]
    # The older one of a group stands with its newest.
    assert "notice 0.</h2>" in first


def test_who_is_not_logged_in_costs_no_query_for_an_inbox(
    cast: Cast, django_assert_num_queries: pytest.FixtureRequest
) -> None:
    with django_assert_num_queries(0):  # type: ignore[operator]
        Client().get("/login/")


def test_people_choose_what_they_hear_of(cast: Cast) -> None:
    alice = logged_in(cast.alice)
    assert 'name="QUARANTINE-mail" aria-label="E-mail: An agent of yours is paused for crashing" checked' in text(
        alice, "/profile/"
    )
    alice.post("/profile/notices/", {"OVERTAKEN-mail": "on", "QUARANTINE-inbox": "on"})
    found = {row.kind: (row.in_inbox, row.by_mail) for row in choice_list(cast.alice)}
    assert found.pop(NoticeKind.OVERTAKEN) == (False, True)
    assert found.pop(NoticeKind.QUARANTINE) == (True, False)
    assert set(found.values()) == {(False, False)}


def test_the_link_in_a_mail_stops_such_mails_without_a_login(cast: Cast) -> None:
    def mailed() -> set[NoticeKind]:
        return {row.kind for row in choice_list(cast.alice) if row.by_mail}

    before = mailed()
    link = f"/unsubscribe/{unsubscribe_token(cast.alice, NoticeKind.QUARANTINE)}/"
    # Programs that look at links in mails change nothing.
    assert "Stop these e-mails?" in text(Client(), link)
    assert mailed() == before
    stranger = Client(enforce_csrf_checks=True)
    assert stranger.post(link, {"List-Unsubscribe": "One-Click"}).status_code == 200
    assert mailed() == before - {NoticeKind.QUARANTINE}
    assert stranger.post(link, {"all": "1"}).status_code == 200
    assert mailed() == set()
    assert stranger.post("/unsubscribe/made-up/").status_code == 404


def test_programs_read_the_inbox_of_their_account(cast: Cast) -> None:
    notify(user=cast.alice, kind=NoticeKind.VALIDATED, title="v1", text="It may play.", address="/status/")
    alice = logged_in(cast.alice)
    answer = alice.get("/api/v1/me/inbox/?unread=true").json()
    assert [(row["kind"], row["title"], row["url"]) for row in answer["results"]] == [
        ("VALIDATED", "v1", "http://127.0.0.1/status/")
    ]
    assert alice.post("/api/v1/me/inbox/").json() == {"read": 1}
    assert alice.get("/api/v1/me/inbox/?unread=true").json()["count"] == 0
