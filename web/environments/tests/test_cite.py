"""Citations: the table or verdict of a moment, and results whose digest anybody can check."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from datetime import timedelta
from html import unescape

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from core.models import Audience, Environment, LedgerEntry, LedgerVoid, Tournament
from core.tests import factories
from core.tests.factories import NOON, Cast
from tests.worlds import Fresh
from web.tests import played, scored
from web.tests.arena import Stage, staged

pytestmark = pytest.mark.django_db
PAGE = "/environments/tic-tac-toe/cite/"


@pytest.fixture(scope="module")
def shared_stage(shared_cast: Cast, shared_environment: Environment) -> Stage:
    """anna has met berta and clara."""
    stage = staged(shared_cast, shared_environment, match_count=6)
    played.play(played.waiting_duel(stage.tournament, stage.anna, stage.clara, 4))
    return stage


@pytest.fixture
def stage(shared_stage: Stage, fresh: Fresh) -> Stage:
    return fresh(shared_stage)


def now() -> str:
    return f"{timezone.now() + timedelta(seconds=1):%Y-%m-%dT%H:%M:%S}"


def shown(client: Client, as_of: str, *ids: str) -> str:
    answer = client.get(PAGE, {"as_of": as_of, "id": ids})
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def digest(page: str) -> str:
    found = set(re.findall(r"\b[0-9a-f]{64}\b", page.partition("arena recheck")[0]))
    assert len(found) == 1, "BibTeX and the command name one digest"
    return str(found.pop())


def results(client: Client, page: str) -> bytes:
    """The file that the page's own command downloads."""
    address = re.search(r"curl -o results.csv \\\n  'https?://[^/]+([^']+)'", page)
    assert address is not None
    sent: bytes = client.get(address[1]).content
    return sent


def test_a_leaderboard_is_cited_with_a_digest_of_its_results(client: Client, stage: Stage) -> None:
    factories.rating_point(stage.anna, timezone.now(), 1700)
    page = shown(client, now())
    assert "Cite: Leaderboard of Tic-tac-toe" in page
    assert re.search(
        r"anna <span[^>]*>v1</span></td>\s*<td class=\"num\">1</td>\s*<td>alice</td><td class=\"num\">1700", page
    )
    sent = results(client, page)
    assert hashlib.sha256(sent).hexdigest() == digest(page)
    rows = list(csv.DictReader(io.StringIO(sent.decode())))
    assert len(rows) == LedgerEntry.objects.count() > 4
    assert {row["version"] for row in rows} >= {str(stage.anna.public_id), str(stage.berta.public_id)}
    assert f"--sha256 {rows[-1]['record_sha256']}" in page
    assert "title = {Leaderboard of Tic-tac-toe}" in page


def test_what_was_cited_stays_when_results_are_added_or_struck(client: Client, stage: Stage) -> None:
    moment = now()
    before = digest(shown(client, moment))
    with time_machine.travel(timezone.now() + timedelta(hours=1), tick=False):
        extra = played.play(played.waiting_duel(stage.tournament, stage.berta, stage.clara, 4))
        LedgerVoid.objects.create(duel=stage.duel, reason="A test.")
        later = shown(client, now())
        rows = csv.DictReader(io.StringIO(results(client, later).decode()))
        duels = {int(row["duel"]) for row in rows}
    assert (extra.pk in duels, stage.duel.pk in duels) == (True, False)
    assert digest(later) != before
    assert digest(shown(client, moment)) == before


def test_a_comparison_is_cited_by_the_matches_of_its_time(client: Client, stage: Stage) -> None:
    link = re.search(r'href="([^"]*/cite/[^"]*)"', client.get(f"{PAGE[:-5]}compare/?id=anna&id=berta").content.decode())
    assert link is not None
    assert str(stage.anna.public_id) in link[1]
    page = shown(client, now(), str(stage.anna.public_id), str(stage.berta.public_id))
    assert "Cite: anna v1 and berta v1 in Tic-tac-toe" in page
    assert "In the duels between anna v1 and berta v1" in page
    early = shown(client, "2026-01-01", str(stage.anna.public_id), str(stage.berta.public_id))
    assert "have met neither" in early


def test_withheld_results_are_in_no_citation(client: Client, stage: Stage) -> None:
    Tournament.objects.update(results=Audience.HIDDEN)
    page = shown(client, now())
    assert "made from the 0 results" in page
    assert results(client, page) == b""


def test_without_a_moment_the_page_cites_yesterday_once_it_had_a_board(client: Client, stage: Stage) -> None:
    assert re.search(r"as_of=\d{4}-\d\d-\d\dT", client.get(PAGE)["Location"])
    factories.rating_point(stage.anna, NOON, 1700)
    yesterday = timezone.now() - timedelta(days=1)
    assert client.get(PAGE)["Location"].endswith(f"?as_of={yesterday:%Y-%m-%d}")
    wrong = client.get(f"{PAGE}?as_of=soon")
    assert (wrong.status_code, b"Write a day as" in wrong.content) == (400, True)
    assert client.get(f"{PAGE}results.csv?as_of=soon").status_code == 404


def test_a_board_of_scores_is_cited_by_its_evaluations(client: Client, cast: Cast) -> None:
    task = factories.task()
    factories.evaluation(factories.ready(factories.agent(cast.alice, task, "pole")), record_sha256="a" * 64)
    answer = client.get(f"/environments/{task.slug}/cite/", {"as_of": "2026-12-31"})
    page = unescape(answer.content.decode())
    assert re.search(
        r"pole <span[^>]*>v1</span></td>\s*<td class=\"num\">1</td>\s*<td>alice</td><td class=\"num\">25", page
    )
    assert hashlib.sha256(results(client, page)).hexdigest() == digest(page)
    assert f"--sha256 {'a' * 64}" in page


def test_a_comparison_by_scores_is_cited_pair_by_pair_with_the_evaluations_of_its_time(
    client: Client, cast: Cast
) -> None:
    row = scored.environment(episodes=20)
    rows = [
        scored.evaluation(scored.submission(owner, row, name), scored.scores_around(mean, 20))
        for owner, name, mean in ((cast.alice, "one", 400), (cast.bob, "two", 100), (cast.charlie, "three", 250))
    ]
    names = "&".join(f"id={name}" for name in ("one", "two", "three"))
    compared = client.get(f"/environments/{row.slug}/compare/?{names}").content.decode()
    link = re.search(r'href="([^"]*/cite/[^"]*)"', compared)
    assert link is not None
    address = unescape(link[1])
    page = unescape(client.get(f"{address}&as_of={now()}").content.decode())
    assert "Cite: one v1, two v1 and three v1 in" in page
    assert page.count('class="verdict"') == 3
    assert "one v1 is better than two v1" in page
    sent = results(client, page)
    assert hashlib.sha256(sent).hexdigest() == digest(page)
    cited = {int(one["evaluation"]) for one in csv.DictReader(io.StringIO(sent.decode()))}
    assert cited == {one.pk for one in rows}
    early = client.get(f"{address}&as_of=2020-01-01").content.decode()
    assert "Fewer than two of them had been evaluated by then." in early
