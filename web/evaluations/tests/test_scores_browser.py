"""Boards, evaluations and forms in a real browser: by keyboard, live, on a phone, and as a screen reader finds them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.cache import cache
from django.db import connections
from playwright.sync_api import Browser, Locator, Page, Route, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from core.models import Environment, Evaluation, JobState, Recording, Submission, User
from core.tests import factories
from core.tests.factories import NOON
from web.tests import scored
from web.tests.tabs import session, used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]
LONG = "a-name-of-an-agent-that-is-as-long-as-it-may-be-ok"
FRAMES = ["@FFF\nFHFH", "S@FF\nFHFH", "SF@F\nFHFH"]
TROUBLES = """() => {
  const found = [];
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  for (const id of new Set(ids.filter((id, place) => ids.indexOf(id) !== place))) found.push(`two elements are #${id}`);
  for (const one of document.querySelectorAll("[aria-labelledby], [aria-describedby], label[for], input[list]"))
    for (const name of ["aria-labelledby", "aria-describedby", "for", "list"])
      for (const id of (one.getAttribute(name) ?? "").split(" ").filter(Boolean))
        if (!document.getElementById(id)) found.push(`${name}=${id} leads nowhere`);
  const named = "a[href], button, input:not([type=hidden]), select, textarea, [role=img]";
  for (const one of document.querySelectorAll(named)) {
    const label = one.getAttribute("aria-label") || [...(one.labels ?? [])].map((each) => each.textContent).join("")
      || one.textContent || one.querySelector("img")?.alt;
    if (!label?.trim()) found.push(`${one.outerHTML.slice(0, 80)} has no name`);
  }
  for (const one of document.querySelectorAll("img:not([alt])")) found.push(`${one.src} has no alt`);
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) found.push(`${heading.textContent} skips a level of headings`);
    level = next;
  }
  if (document.querySelectorAll("h1").length !== 1) found.push("there is not one h1");
  const width = document.documentElement;
  if (width.scrollWidth > width.clientWidth) found.push(`scrolls sideways by ${width.scrollWidth - width.clientWidth}`);
  return found;
}"""


@dataclass(frozen=True, slots=True)
class Stage:
    task: Environment
    first: Submission
    evaluation: Evaluation
    running: Evaluation
    script: Evaluation
    ids: dict[str, str]
    """Public ids by the name of the agent."""


@pytest.fixture
def stage(transactional_db: None) -> Stage:
    cache.clear()
    cast = factories.cast()
    task = scored.environment()
    # Single episodes are shown of public seeds alone.
    task.seed_lists.update(revealed_at=NOON)
    first = scored.submission(cast.alice, task, LONG, algorithm="a method with a very long name that goes on " * 2)
    evaluation = scored.evaluation(first, scored.scores_around(400, 20))
    scored.recording(evaluation, Recording.Choice.BEST, frames=FRAMES)
    scored.recording(evaluation, Recording.Choice.WORST, state=JobState.FAILED)
    second = scored.submission(cast.bob, task, "second")
    scored.evaluation(second, scored.scores_around(300, 20, seed=2))
    running = scored.evaluation(scored.submission(cast.bob, task, "running"), [10.0, 20.0], state=JobState.RUNNING)
    script = scored.script(cast.bob, task, "script", 1e9, metrics={"loss": 0.5})
    ids = {row.agent.name: str(row.public_id) for row in Submission.objects.select_related("agent")}
    return Stage(task, first, evaluation, running, script, ids)


@pytest.fixture(scope="module")
def tab(live_server: LiveServer, chromium: Browser) -> Iterator[Page]:
    """Its clock stands still until a test moves it."""
    permissions = ["clipboard-read", "clipboard-write"]
    with chromium.new_context(base_url=live_server.url, permissions=permissions) as context:
        context.clock.install(time=NOON)
        context.clock.pause_at(NOON + timedelta(seconds=1))
        yield context.new_page()


@pytest.fixture
def who() -> str:
    """Who looks: a visitor without an account, unless a test says otherwise."""
    return ""


@pytest.fixture
def page(stage: Stage, tab: Page, who: str) -> Iterator[Page]:
    tab.set_viewport_size({"width": 1280, "height": 720})
    with used(tab, session(User.objects.get(username=who)) if who else "") as page:
        yield page


def meanwhile(change: Callable[[], object]) -> None:
    """Change rows while a page is open: in a thread, because the browser's loop runs in this one."""

    def changed() -> None:
        change()
        cache.clear()
        connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(changed).result()


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.nightly), 360])
@pytest.mark.parametrize("who", ["alice"])
def test_every_page_has_names_and_order_and_fits(page: Page, stage: Stage, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    ids = "&".join(f"id={one}" for one in stage.ids.values())
    for path in (
        "/",
        "/environments/cart-pole/",
        "/environments/cart-pole/?score_min=many",
        "/environments/cart-pole/?user=nobody",
        f"/environments/cart-pole/compare/?{ids}",
        f"/environments/cart-pole/agents/{LONG}/",
        f"/evaluations/{stage.evaluation.pk}/",
        f"/evaluations/{stage.running.pk}/",
        f"/evaluations/{stage.script.pk}/",
        f"/evaluations/{stage.evaluation.pk}/episodes/best/",
        f"/status/?id={stage.first.public_id}",
    ):
        page.goto(path)
        assert (path, page.evaluate(TROUBLES)) == (path, [])


@pytest.mark.nightly
def test_a_refresh_keeps_focus_ticks_and_what_is_open(page: Page, stage: Stage) -> None:
    page.goto("/environments/cart-pole/")
    row = page.get_by_role("row").filter(has_text="second")
    row.get_by_role("checkbox").check()
    page.locator(f"#score-{stage.first.pk}").focus()
    meanwhile(lambda: Submission.objects.filter(agent__name="second").update(algorithm="another method"))

    page.clock.run_for(2500)

    expect(page.get_by_text("another method")).to_be_visible()
    expect(page.locator(f"#score-{stage.first.pk}")).to_be_focused()
    expect(row.get_by_role("checkbox")).to_be_checked()


def run_until(page: Page, part: Locator, text: str) -> None:
    """Let the page's time go on until a part says something: answers come by the real clock, swaps by the page's."""
    for _ in range(20):
        page.clock.run_for(1000)
        with contextlib.suppress(AssertionError):
            expect(part).to_contain_text(text, timeout=500)
            break
    expect(part).to_contain_text(text)


@pytest.mark.parametrize("who", ["bob"])
@pytest.mark.nightly
def test_an_answer_that_is_not_shown_takes_no_tick_back(page: Page, stage: Stage) -> None:
    """Else its part would go back to what it was when another one is refreshed."""

    def answer(route: Route) -> None:
        if route.request.headers.get("hx-target") == "leaderboard":
            route.fulfill(status=204)
        else:
            route.continue_()

    page.route("**/environments/cart-pole/", answer)
    page.goto("/environments/cart-pole/")
    with page.expect_response(lambda response: response.status == 204):
        page.clock.run_for(2500)
    tick = page.get_by_role("row").filter(has_text="second").get_by_role("checkbox")
    tick.check()
    own = page.locator("#own-agents")
    expect(own).to_contain_text("Evaluating")
    meanwhile(lambda: factories.moved(Evaluation.objects.filter(pk=stage.running.pk), JobState.CANCELLED))
    run_until(page, own, "Cancelled")
    expect(tick).to_be_checked()


def test_the_board_is_filtered_and_compared_by_keyboard(page: Page, stage: Stage) -> None:
    page.goto("/environments/cart-pole/")
    page.get_by_text("Filter the board").focus()
    page.keyboard.press("Enter")
    page.get_by_label("User").fill("bob")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"user=bob"))
    expect(page.locator("#leaderboard tbody tr")).to_have_count(2)
    for box in page.get_by_role("checkbox", name="Compare").all():
        box.press("Space")
    page.get_by_role("button", name="Compare selected agents").press("Enter")
    expect(page.get_by_role("heading", name="Side by side")).to_be_visible()
    expect(page.locator(".compared thead th")).to_have_count(2)


def test_a_running_evaluation_grows_while_one_watches(page: Page, stage: Stage, settings: Settings) -> None:
    page.goto(f"/evaluations/{stage.running.pk}/")
    chart = page.locator("#evaluation .plot-place")
    if settings.CHART_LIBRARY.is_dir():
        chart.focus()
        page.keyboard.press("End")
        expect(page.locator(".readout")).to_contain_text("Episode 2: score 20, mean so far 15")
    expect(chart).to_have_attribute("aria-label", re.compile("^Mean after 2 of 20 episodes: 15,"))
    episodes = [[1, 10.0, 10, 0.1], [2, 20.0, 20, 0.1], [3, 60.0, 60, 0.1]]
    meanwhile(lambda: Evaluation.objects.filter(pk=stage.running.pk).update(episodes=episodes, episodes_done=3))
    page.clock.run_for(2500)
    expect(chart).to_have_attribute("aria-label", re.compile("^Mean after 3 of 20 episodes: 30,"))
    if settings.CHART_LIBRARY.is_dir():
        expect(chart).to_be_focused()
        expect(page.locator("#formation-plot-table")).not_to_have_attribute("open", "")
        expect(page.locator(".readout")).to_contain_text("Episode 2: score 20, mean so far 15")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".readout")).to_contain_text("Episode 3: score 60, mean so far 30")


def test_all_charts_of_an_evaluation_are_drawn_and_read_by_keyboard(
    page: Page, stage: Stage, settings: Settings
) -> None:
    if not settings.CHART_LIBRARY.is_dir():
        pytest.skip("The chart library is not installed: npm ci")
    page.goto(f"/evaluations/{stage.evaluation.pk}/")
    expect(page.locator("figure.plot canvas")).to_have_count(3)
    for name, said in (
        ("distribution-plot", r"^Score of an episode [\d.]+ to [\d.]+: episodes \d+$"),
        ("formation-plot", r"^Episode 20: score [\d.]+, mean so far [\d.]+, within 1\.96 standard errors"),
        ("best-return", "^Step 2: return 2$"),
    ):
        page.locator(f"#{name} .plot-place").focus()
        page.keyboard.press("End")
        expect(page.locator(f"#{name} .readout")).to_have_text(re.compile(said))
    expect(page.locator("details.behind[open]")).to_have_count(0)
    page.goto(f"/environments/cart-pole/compare/?id={stage.ids[LONG]}&id={stage.ids['second']}")
    expect(page.locator("figure.plot canvas")).to_be_visible()
    page.locator(".plot-place").focus()
    page.keyboard.press("Home")
    expect(page.locator(".readout")).to_have_text(re.compile(r": A 0%, B \d+%"))


@pytest.mark.parametrize("who", ["bob"])
@pytest.mark.nightly
def test_the_keyboard_stays_where_it_is_when_its_part_is_drawn_anew(page: Page, stage: Stage) -> None:
    page.goto("/environments/cart-pole/agents/running/")
    part = page.locator("#v1")
    page.locator("#more-1 > summary").click()
    done = 2
    for held in (page.get_by_role("link", name="Build log"), page.get_by_role("button", name="Delete this version")):
        held.focus()
        done += 1
        meanwhile(lambda: Evaluation.objects.filter(pk=stage.running.pk).update(episodes_done=done))  # noqa: B023
        run_until(page, part, f"{done} of 20 episodes")
        expect(held).to_be_focused()


def test_the_episodes_are_switched_by_keyboard_and_a_refresh_keeps_what_is_chosen(
    page: Page, stage: Stage, settings: Settings
) -> None:
    if not settings.CHART_LIBRARY.is_dir():
        pytest.skip("The chart library is not installed: npm ci")
    median = scored.recording(stage.evaluation, Recording.Choice.MEDIAN, state=JobState.RUNNING)
    page.goto(f"/evaluations/{stage.evaluation.pk}/")
    shown = page.locator(".recording:visible")
    expect(shown).to_have_id("recording-best")
    page.get_by_role("radio", name="Best").focus()
    page.keyboard.press("ArrowRight")
    expect(shown).to_have_id("recording-median")
    meanwhile(lambda: factories.moved(Recording.objects.filter(pk=median.pk), JobState.FAILED))
    page.clock.run_for(3500)
    expect(shown).to_contain_text("The recording failed.")
    expect(shown).to_have_id("recording-median")
    page.get_by_role("radio", name="Best").check()
    expect(page.locator("#best-return canvas")).to_be_visible()
    assert page.evaluate(TROUBLES) == []


@pytest.mark.nightly
def test_a_video_has_its_bar_below_the_picture(page: Page, stage: Stage) -> None:
    scored.recording(stage.evaluation, Recording.Choice.MEDIAN, video=b"no film")
    page.goto(f"/evaluations/{stage.evaluation.pk}/")
    page.get_by_role("radio", name="Median").check()
    expect(page.locator("video")).not_to_have_attribute("controls", "")
    bar = page.locator(".clip")
    expect(bar.get_by_role("button", name="Play")).to_be_visible()
    expect(bar.get_by_role("slider", name="Position: median episode")).to_be_enabled()
    assert page.evaluate(TROUBLES) == []


def test_an_episode_of_text_is_stepped_by_keys(page: Page, stage: Stage) -> None:
    page.goto(f"/evaluations/{stage.evaluation.pk}/")
    page.get_by_role("link", name="Step through it in text").click()
    expect(page.locator("#slider")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#text")).to_have_text(FRAMES[1])
    expect(page.locator("#frame")).to_have_attribute("alt", "State after 1 of 2 steps; the text below shows the same")
    page.keyboard.press("End")
    expect(page.locator("#caption")).to_contain_text("End")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    page.clock.run_for(900)
    expect(page.locator("#slider")).to_have_value("1")


@pytest.mark.parametrize("who", ["alice"])
@pytest.mark.nightly
def test_the_main_file_is_asked_for_when_several_could_be_it(page: Page, stage: Stage, tmp_path: Path) -> None:
    for name in ("train.py", "model.py", "player.py"):
        (tmp_path / name).write_text("pass\n")
    page.goto("/environments/cart-pole/write/")
    main, files = page.get_by_label("Main file"), page.get_by_label("Files")
    expect(main).to_be_hidden()
    files.set_input_files([tmp_path / "train.py", tmp_path / "model.py"])
    expect(main).to_be_visible()
    assert page.locator("#main-files option").evaluate_all("all => all.map((one) => one.value)") == [
        "train.py",
        "model.py",
    ]
    files.set_input_files([tmp_path / "train.py", tmp_path / "player.py"])
    expect(main).to_be_hidden()


@pytest.mark.nightly
def test_all_works_without_scripts(stage: Stage, live_server: LiveServer, chromium: Browser) -> None:
    with chromium.new_page(java_script_enabled=False, base_url=live_server.url) as page:
        page.goto("/environments/cart-pole/")
        page.get_by_text("Filter the board").click()
        page.get_by_label("Verified only").check()
        page.get_by_role("button", name="Filter").click()
        expect(page.locator("#leaderboard tbody tr")).to_have_count(2)
        page.goto(f"/evaluations/{stage.evaluation.pk}/")
        expect(page.locator("figure.plot:visible")).to_have_count(0)
        expect(page.get_by_role("columnheader", name="Mean so far")).to_be_visible()
        best, worst = page.locator("#recording-best"), page.locator("#recording-worst")
        expect(best).to_be_visible()
        expect(worst).to_be_hidden()
        page.get_by_role("radio", name="Worst").check()
        expect(best).to_be_hidden()
        expect(worst).to_be_visible()
        page.goto(f"/evaluations/{stage.evaluation.pk}/episodes/best/")
        page.get_by_role("link", name="Forward").click()
        expect(page.locator("#count")).to_have_text("1 / 2")
