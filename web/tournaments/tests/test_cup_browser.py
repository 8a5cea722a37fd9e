"""A cup of 33 with a tie at the cut and a final that is revealed in a hall, in a real browser with its scripts."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect

from core.editions.planned import planned_begin
from core.editions.progress import tournament_step
from core.editions.revealing import round_reveal
from core.models import Audience, Duel, JobState, Tournament, TournamentState
from core.tests import factories
from web.tests import played
from web.tests.tabs import session, used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.nightly]
TRIO = ("team-16", "team-17", "team-32")
"""Members of group A beside the first seed: 2 of 5 qualify."""
PLAYED_OUT = 7
"""The second round of extra duels decides."""


def finish(duel: Duel) -> None:
    """Play a duel of two matches: the better seed wins, but the trio is level until its last seed wins."""
    names = (duel.player_1.agent.name, duel.player_2.agent.name)
    best = min(names)
    if set(names) <= set(TRIO):
        if duel.round < PLAYED_OUT:
            played.play(duel, faults_of_1={1}, faults_of_2={2})
            return
        best = max(names)
    loser = int(names[0] == best)
    played.play(duel, **{f"faults_of_{loser + 1}": {1, 2}})


def play_to_the_end(cup: Tournament) -> None:
    while cup.state == TournamentState.RUNNING:
        tournament_step(cup, now=timezone.now())
        for duel in cup.duels.filter(state=JobState.QUEUED).order_by("number"):
            finish(duel)
    assert cup.state == TournamentState.FINISHED


def test_a_cup_of_33_with_a_tie_at_the_cut_and_a_revealed_final(tab: Page) -> None:
    olga, alice = factories.user("olga", is_staff=True, is_superuser=True), factories.user("alice")
    environment = factories.environment()
    agents = [factories.ready(factories.agent(alice, environment, f"team-{n:02}")).agent for n in range(1, 34)]
    with used(tab, session(olga)) as page:
        page.goto("/organise/tournaments/plan/?preset=cup")
        page.get_by_label("Name", exact=True).fill("Spring Cup")
        page.get_by_label("Format").select_option("groups-knock-out")
        for name, value in (("Groups", "8"), ("Advance", "2"), ("Pairs", "1"), ("Extension pairs", "1")):
            page.get_by_label(name, exact=True).fill(value)
        page.get_by_label("Decided by").select_option("BY_HAND")
        page.get_by_label("Results", exact=True).select_option("HIDDEN")
        page.get_by_label("Registration opens").fill("2020-01-01T10:00")
        page.get_by_role("button", name="Plan the tournament").click()
        expect(page.get_by_text("is planned.")).to_be_visible()
        cup = Tournament.objects.get(name="Spring Cup")
        for agent in reversed(agents):
            cup.registrations.create(agent=agent)
        page.get_by_role("link", name="Change the plan").click()
        page.get_by_label("Seeds by hand").fill("\n".join(agent.name for agent in agents))
        page.get_by_role("button", name="Save the changes").click()
        page.locator(".deeds.rule").get_by_text("Begin now").click()
        page.get_by_role("button", name="Begin now").click()
        expect(page.get_by_text("begins within seconds")).to_be_visible()
    planned_begin(environment, now=timezone.now())
    cup.refresh_from_db()
    play_to_the_end(cup)
    assert list(cup.participants.order_by("seeding").values_list("submission__agent__name", flat=True)) == [
        agent.name for agent in agents
    ]
    last = max(cup.duels.values_list("round", flat=True))
    # Five rounds of groups, two of extra duels among the trio, four of the knock-out.
    assert last == 11
    extra = cup.duels.filter(round__in=(6, 7)).values_list("player_1__agent__name", "player_2__agent__name")
    assert {name for pair in extra for name in pair} == set(TRIO)
    in_bracket = cup.duels.filter(round=8).values_list("player_1__agent__name", "player_2__agent__name")
    qualified = {name for pair in in_bracket for name in pair}
    assert qualified & set(TRIO) == {"team-32"}
    assert len(qualified) == 16
    for _ in range(last - 2):
        round_reveal(tournament=cup, to=Audience.PUBLIC)
    final = cup.duels.filter(round=last)
    (keys, address) = list(final.values_list("pk", flat=True)), f"/environments/tic-tac-toe/editions/{cup.edition}/"

    def stays_hidden() -> None:
        stranger = Client()
        for key in keys:
            assert stranger.get(f"/duels/{key}/").status_code == 403
            assert stranger.get(f"/api/v1/duels/{key}/").status_code == 403
        game = "/environments/tic-tac-toe/"
        standing = f"/api/v1/tournaments/{cup.pk}/standing/"
        pages = (address, f"{address}screen/", standing, "/", "/live/", "/search/?q=Spring", f"{game}tournaments/")
        for at in (*pages, f"{game}feed.atom"):
            shown = stranger.get(at).content.decode()
            assert not [key for key in keys if f"/duels/{key}/" in shown], at
            assert "won by" not in shown, at
            assert 'class="podium"' not in shown, at

    stays_hidden()
    hall = tab.context.browser.new_context(viewport={"width": 1920, "height": 1080}) if tab.context.browser else None
    assert hall is not None
    with used(tab, session(olga)) as page, hall:
        page.goto(address)
        screen = hall.new_page()
        screen.goto(page.url + "screen/")
        expect(screen.locator(".hall")).to_contain_text("Quarter-final")
        for name in ("Semi-final", "result"):
            page.locator(".deeds.rule").get_by_text("Reveal the next round").click()
            page.get_by_role("button", name="Reveal the next round").click()
            expect(page.locator(".messages")).to_contain_text("to everyone")
            # The hall follows by itself.
            expect(screen.locator(".hall")).to_contain_text(name, timeout=30_000)
            if name == "Semi-final":
                expect(screen.get_by_text("Next: Final")).to_be_visible()
                stays_hidden()
        expect(screen.locator(".podium .place-1")).to_contain_text("team-01")
        expect(screen.locator(".hero-match img")).to_have_attribute(
            "src", re.compile("^data:image/svg"), timeout=30_000
        )
        assert screen.evaluate("document.documentElement.scrollHeight <= innerHeight")
    cup.refresh_from_db()
    assert cup.results == Audience.PUBLIC
    assert Client().get(f"/duels/{keys[0]}/").status_code == 200
