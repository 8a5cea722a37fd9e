from __future__ import annotations

import base64
import dataclasses
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from arena_kit.cli import local_replay
from arena_kit.environment.adapters.classic import html as classic_html
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay_file import board
from arena_kit.environment.replay_file.facts import ReplayAgent, ReplayFacts
from arena_kit.environment.replay_file.page import (
    ASSETS,
    MAX_BYTES,
    PageExtras,
    page_policy,
    plain_page,
    replay_page,
    thinned,
)
from arena_kit.environment.replay_file.views import FrameView, frame_views
from arena_kit.environment.server.frames import Drawing
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.tests.environment.outside import spec_of
from arena_kit.tests.environment.playing import GAMES, match_record

ROOT = Path(__file__).resolve().parents[3]
SPEC = get_spec("connect-four")
RECORD = match_record(SPEC, 2, seed=3)
FACTS = ReplayFacts("duel-1-match-2", (ReplayAgent("7", "anna v1", 1), ReplayAgent("9", "berta v2", 2)))
HOSTILE = (
    "</script><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(2)>",
    "<!--<script>",
    "]]>--!></style></title><svg/onload=alert(3)>",
    "\u202etxt.exe\u2066\u2028",
    "$title ${script} $",
)


class Seen(HTMLParser):
    """What a browser finds in a page: elements with their attributes, and the text within scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.within: list[tuple[str, str]] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("script", "style", "title"):
            self.within.append((self._inside, data))


def states(page: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="replay">(.*?)</script>', page)
    assert found is not None
    data = json.loads(found[1])
    return [{**state, "svg": state["svg"].replace("<style/>", data["shared"])} for state in data["states"]]


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: str(spec.id))
def test_a_page_holds_every_state_as_picture_text_and_sentence(spec: EnvironmentSpec) -> None:
    record = match_record(spec, 2, seed=3)
    views = frame_views(spec, record, FACTS.names)

    page = replay_page(spec, record, FACTS)

    assert [(state["ply"], state["svg"], state["text"]) for state in states(page)] == [
        (view.ply, view.svg, view.text) for view in views
    ]
    for view in views:
        assert f'href="#ply={view.ply}"' in page
        assert view.caption in page
    assert views[0].picture in page


def test_equal_records_give_equal_pages() -> None:
    assert replay_page(SPEC, RECORD, FACTS) == replay_page(SPEC, RECORD, FACTS)


def test_a_page_names_no_address_outside_itself() -> None:
    page = replay_page(SPEC, RECORD, FACTS)
    without_names = page.replace("http://www.w3.org/2000/svg", "")

    assert "http" not in without_names.replace('http-equiv="', "")
    for _, attributes in Seen(page).elements:
        for name in ("src", "href", "action", "data", "srcset"):
            value = attributes.get(name) or ""
            assert value.startswith(("#", "data:")) or not value, value


def test_the_policy_allows_the_pages_own_script_and_style_alone() -> None:
    page = replay_page(SPEC, RECORD, FACTS)
    seen = Seen(page)
    policy = next(a["content"] for tag, a in seen.elements if tag == "meta" and "http-equiv" in a)

    assert policy == page_policy()
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    scripts = [text for tag, text in seen.within if tag == "script"]
    styles = [text for tag, text in seen.within if tag == "style"]
    assert (len(scripts), len(styles)) == (2, 1)
    for kind, text in (("script-src", scripts[1]), ("style-src", styles[0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert not any("style" in attributes for _, attributes in seen.elements)
    assert not any(name.startswith("on") for _, attributes in seen.elements for name in attributes)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_wherever_they_stand(name: str) -> None:
    facts = ReplayFacts("x", (ReplayAgent("7", name), ReplayAgent("9", "berta")))
    plain = Seen(replay_page(SPEC, RECORD, ReplayFacts("x", (ReplayAgent("7", "anna"), ReplayAgent("9", "berta")))))

    page = replay_page(SPEC, RECORD, facts, extras=PageExtras(tags=(("og:title", name),)))

    seen = Seen(page)
    # The one further element is the tag in the head.
    assert len(seen.elements) == len(plain.elements) + 1
    assert [text for tag, text in seen.within if tag == "script"][1] == plain.within[-1][1]
    assert len(states(page)) == len(RECORD.actions) + 1
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", page.replace("\u202etxt.exe\u2066\u2028", ""))


def test_texts_of_an_environment_end_no_element() -> None:
    views = [FrameView(0, "", "</script><!--<script>", "</ol><script>", ())]
    shown, note = thinned(views, 10_000)

    assert (shown, note) == (views, "")
    from arena_kit.environment.replay_file import page

    assert "</" not in page._data(views)
    assert "<script>" not in page._move(views[0], "")


def test_a_page_that_would_be_too_large_has_fewer_states_and_says_so() -> None:
    whole = replay_page(SPEC, RECORD, FACTS)
    limit = len(whole) * 2 // 3

    page = replay_page(SPEC, RECORD, FACTS, max_bytes=limit)

    kept = [state["ply"] for state in states(page)]
    assert len(page.encode()) <= limit
    assert kept == [*range(0, len(RECORD.actions), kept[1]), len(RECORD.actions)]
    assert 2 <= len(kept) < len(RECORD.actions)
    assert f"of the {len(RECORD.actions) + 1} states, because all of them would make it too large." in page
    assert 'role="note"' not in whole


def test_the_pictures_go_before_the_file_grows_too_large() -> None:
    limit = len(plain_page("")) + 22_000

    page = replay_page(SPEC, RECORD, FACTS, max_bytes=limit)

    assert "The pictures are left out" in page
    assert all(state["svg"] == "" for state in states(page))
    assert [state["ply"] for state in states(page)][-1] == len(RECORD.actions)


def test_a_page_of_a_very_long_match_stays_within_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    views = frame_views(SPEC, RECORD, FACTS.names)
    many = [dataclasses.replace(views[ply % len(views)], ply=ply) for ply in range(4000)]
    monkeypatch.setattr("arena_kit.environment.replay_file.page.frame_views", lambda *_, **__: many)

    page = replay_page(SPEC, RECORD, FACTS)

    assert MAX_BYTES // 3 < len(page.encode()) <= MAX_BYTES
    assert states(page)[-1]["ply"] == 3999


def test_without_pictures_a_page_is_small() -> None:
    views = frame_views(SPEC, RECORD, FACTS.names)
    page = replay_page(SPEC, RECORD, FACTS)
    pictures = sum(len(json.dumps(state["svg"])) for state in states(page)) + len(views[0].picture)

    assert len(page.encode()) - pictures < 100_000
    without = re.sub(r'"svg":"(?:[^"\\]|\\.)*"|data:image[^"]*', "", page)
    assert len(without.encode()) < 100_000


def test_a_page_of_a_long_match_is_small_on_its_way() -> None:
    spec = get_spec("pong")
    page = replay_page(spec, match_record(spec, 2, seed=3), FACTS)

    assert len(states(page)) > 300
    # As nginx sends it.
    assert len(gzip.compress(page.encode(), 1)) < 100_000


def test_the_page_has_the_colours_and_spaces_of_the_site() -> None:
    page, site = (
        (folder / name).read_text() for folder, name in ((ASSETS, "page.css"), (ROOT / "web/static/web", "app.css"))
    )
    tokens = dict(re.findall(r"(--[\w-]+):\s*([^;]+);", page))
    of_site = dict(re.findall(r"(--[\w-]+):\s*([^;]+);", site))

    # The site brings a font of its own, which would make every page larger.
    of_site["--sans"] = of_site["--sans"].removeprefix('"Inter", ')
    assert tokens == {name: of_site.get(name) for name in tokens}
    used = set(re.findall(r"var\((--[\w-]+)\)", page + (ASSETS / "player.css").read_text()))
    assert used <= tokens.keys()


def test_an_embedded_page_leads_to_its_match() -> None:
    extras = PageExtras("https://arena.example/duels/1/matches/2/", (("og:title", 'a "b"'),))

    page = replay_page(SPEC, RECORD, FACTS, extras=extras)

    assert '<meta property="og:title" content="a &quot;b&quot;">' in page
    assert '<a href="https://arena.example/duels/1/matches/2/" target="_blank" rel="noopener">' in page


def test_a_classic_environment_is_drawn_with_its_own_pictures_and_nothing_from_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = spec_of("classic_nim", action_count=3)
    record = match_record(spec, 2, seed=3)
    html = (
        '<p class="heap"><img src="/static/nim/heap.svg"><img src="https://evil.example/x.png"><script>x()</script></p>'
    )
    head = "<style>p { background: url('heap.svg') } b { background: url(//evil.example/y) }</style>"
    drawn = {Drawing.HEAD: head, Drawing.HTML: html}
    monkeypatch.setattr(classic_html, "draw", lambda _, kind, *__: drawn[kind])
    page = replay_page(spec, record, FACTS)
    data = json.loads(re.findall(r'id="replay">([^<]*)<', page)[0])
    assert {state["html"] for state in data["states"]} == {'<p class="heap"><img src="pictures/heap.svg"><img></p>'}
    assert set(data["pictures"]) == {"heap.svg"}
    assert data["pictures"]["heap.svg"].startswith("data:image/svg+xml;base64,")
    (rule,) = json.loads(re.findall(r'id="rules">([^<]*)<', page)[0])
    assert rule == f"p {{ background: url({data['pictures']['heap.svg']}) }} b {{ background: none }}"
    assert "evil.example" not in page

    small = replay_page(spec, record, FACTS, max_bytes=len(page.encode()) - 300)
    assert len(small.encode()) < len(page.encode()) - 300
    for module in (board, local_replay):
        monkeypatch.setattr(module, "can_clean", lambda: False)
    local_replay.write_replay(local_replay.LocalReplay(spec, record, FACTS), html=tmp_path / "match.html")
    assert 'id="board"' not in (tmp_path / "match.html").read_text()
    assert "install the package nh3" in capsys.readouterr().err
