"""How many clicks lead from the home page to what people come for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from core.duels.analyses import analysis_request
from core.duels.losses import typical_loss
from core.jobs.worker import Performed, step
from core.models import Duel
from core.tests import factories
from web.tests.arena import Stage, staged
from web.tests.tabs import session, used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]
MATCH = re.compile(r"/duels/\d+/matches/\d+/")


class Walk:
    """A person who clicks, and counts it."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0
        page.goto("/")

    def click(self, name: str | re.Pattern[str], role: str = "link") -> None:
        self.clicks += 1
        self.page.get_by_role(role, name=name).first.click()  # type: ignore[arg-type]  # one of Playwright's roles


@pytest.fixture
def stage(transactional_db: None) -> Stage:
    stage = staged(factories.cast(), factories.environment())
    Duel.objects.filter(pk=stage.duel.pk).update(ended_at=timezone.now() - timedelta(minutes=5))
    return stage


@pytest.fixture
def page(stage: Stage, tab: Page) -> Iterator[Page]:
    with used(tab) as page:
        yield page


def test_one_click_leads_from_home_to_a_match(page: Page) -> None:
    walk = Walk(page)
    walk.click(re.compile("^Watch "))
    expect(page).to_have_url(MATCH)
    expect(page.locator("#slider")).to_be_visible()
    assert walk.clicks == 1


def test_one_click_leads_an_owner_from_a_lost_match_to_its_reason(stage: Stage, tab: Page) -> None:
    duel = stage.duel
    loser = 0 if duel.outcome == "PLAYER_2" else 1
    owner = (duel.player_1, duel.player_2)[loser].agent.owner
    number = typical_loss(duel, loser)
    assert number is not None
    # As it is after every edition: the losses are analysed before their owner comes.
    analysis_request(user=owner, played=duel, number=number)
    assert step("duel") is Performed.DONE
    with used(tab, session(owner)) as page:
        walk = Walk(page)
        walk.click(re.compile("^Why"), "button")
        expect(page).to_have_url(re.compile(rf"/duels/{duel.pk}/matches/{number}/"))
        expect(page.locator("#remark")).to_be_visible()
        expect(page.locator("#analysis")).to_contain_text("could have")
        assert walk.clicks <= 2
