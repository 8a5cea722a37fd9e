"""What calls the organisers, and where they see it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from core.models import Alarm
from core.notices.alarms import alarm_raise, alarm_settle
from core.tests.organising import act

pytestmark = pytest.mark.django_db
KEY = "duel-3-does-not-verify"


def test_an_alarm_stands_on_top_of_the_overview_until_it_is_settled(organiser: Client) -> None:
    alarm = alarm_raise(key=KEY, message="Match 1 <b>is odd</b>.", address="/duels/3/")

    page = organiser.get(reverse("web:organise"))
    assertContains(page, "Match 1 &lt;b&gt;is odd&lt;/b&gt;.")
    assertContains(page, '<a href="/duels/3/">Open the page</a>')
    assert page.content.index(b"Match 1") < page.content.index(b'id="now"')
    assert act(organiser, "settle", alarm) == ["duel-3-does-not-verify is settled."]
    assertNotContains(organiser.get(reverse("web:organise")), "Match 1")


def test_the_same_trouble_is_one_alarm_that_can_come_back() -> None:
    first = alarm_raise(key=KEY, message="Match 1 is odd.")
    second = alarm_raise(key=KEY, message="Matches 1 and 2 are odd.")
    assert (second.pk, second.raised_at, second.settled_at) == (first.pk, first.raised_at, None)

    alarm_settle(key=KEY)
    settled_at = Alarm.objects.get().settled_at
    assert settled_at is not None
    alarm_settle(key=KEY)
    assert Alarm.objects.get().settled_at == settled_at

    third = alarm_raise(key=KEY, message="Match 1 is odd.")
    assert third.pk == first.pk
    assert third.raised_at > first.raised_at
    assert Alarm.objects.get(settled_at=None).message == "Match 1 is odd."
