"""An edition of many agents costs each page as many rows as there are agents, and not as there are duels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.utils import timezone

from core.models import Duel, LedgerEntry, Participant, Submission, Tournament, User
from web.tests.crowd import ENDED, Crowd, analyze, crowd, grow, grow_results, made
from web.tests.test_query_counts import addresses, admin_addresses

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.nightly]
FEW, MANY = 50, 200
MOST_TIMES, SLACK_ROWS = 6, 1_500
"""How many times as many rows a page may read, and how many more in any case. Agents become four times as many, duels
sixteen times."""
ALL_RESULTS = {"web:cite", "web:cite on a board", "web:cite_results"}
"""Pages that hash all results of a game, so that they can be cited; their requests are limited."""
FIGURES = {"wins": 6, "losses": 4, "draws": 0, "errors": 0, "opponent_errors": 0, "score": 2}


def meet(rows: Crowd, edition: Tournament, agents: list[Submission], known: list[Submission]) -> None:
    """Let agents play all duels of an edition that they have not played: all but each tenth are over."""
    first, common = edition.duels.count(), {"round": 1, "seed": 1, "match_count": 10}
    pairs = [pair for pair in combinations([*known, *agents], 2) if not {*pair} <= {*known}]
    over = {"outcome": "PLAYER_1", "player_1_wins": 6, "player_2_wins": 4, "matches_done": 10, **ENDED}
    duels = made(
        Duel(tournament=edition, number=n, player_1=one, player_2=other, environment_version=rows.game.spec_id,
             **common, **(over if n % 10 else {}))
        for n, (one, other) in enumerate(pairs, first + 1)
    )  # fmt: skip
    made(Participant(tournament=edition, submission=row) for row in agents)
    ended = [duel for duel in duels if duel.outcome]
    made(LedgerEntry(duel=duel, submission=duel.player_1, opponent=duel.player_2, seat=0, **FIGURES) for duel in ended)
    made(LedgerEntry(duel=duel, submission=duel.player_2, opponent=duel.player_1, seat=1, **FIGURES) for duel in ended)
    analyze()


def rows_read(client: Client, asked: dict[str, str]) -> dict[str, int]:
    """Return how many rows the queries of each page read, of what is not kept."""
    found = {}
    for name, address in asked.items():
        queries: list[tuple[str, Any]] = []

        def noted(execute: Any, sql: str, params: Any, many: bool, context: Any, into: Any = queries) -> Any:
            into.append((sql, params))
            return execute(sql, params, many, context)

        # What is kept for a while is computed for the first of many visitors.
        client.get(address)
        with connection.execute_wrapper(noted):
            assert client.get(address).status_code == 200, name
        found[name] = sum(_read(*query) for query in queries)
    return found


def _read(sql: str, params: Any) -> int:
    if not sql.startswith(("SELECT", "EXECUTE")) or " FOR " in sql:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
        (plan,) = cursor.fetchone()
    return _scanned((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])


def _scanned(node: dict[str, Any]) -> int:
    """Return the rows that the scans of a plan read, those that filters removed too."""
    below = sum(_scanned(one) for one in node.get("Plans", ()))
    if "Relation Name" not in node:
        return below
    removed = sum(node.get(f"Rows Removed by {what}", 0) for what in ("Filter", "Index Recheck"))
    read: int = round(node["Actual Loops"] * (node["Actual Rows"] + removed))
    return below + read


@pytest.fixture(autouse=True)
def one_moment() -> Iterator[None]:
    """What is kept for a second stays kept, however long a page takes."""
    with time_machine.travel(timezone.now(), tick=False):
        yield


def test_an_edition_of_200_agents_costs_pages_four_times_one_of_50() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("Only PostgreSQL counts the rows that a query reads.")
    rows = crowd()
    User.objects.filter(pk=rows.hero.agent.owner.pk).update(is_staff=True, is_superuser=True)
    grow(rows, 2)
    edition = Tournament.objects.create(environment=rows.game, edition=5_000)
    owner, stranger = Client(), Client()
    owner.force_login(User.objects.get(username="hero"))
    asked = addresses(rows) | admin_addresses()
    asked["the edition"] = f"/environments/{rows.game.slug}/editions/5000/"
    asked["hero in it"] = f"{asked['the edition']}agents/hero/"
    _, _, few = grow_results(rows, FEW - 1)
    few = [rows.hero, *few]
    meet(rows, edition, few, [])
    public = {name: asked[name] for name in ("web:home", "web:watch", "web:environment", "web:agent", "the edition")}

    before = rows_read(owner, asked), rows_read(stranger, public)
    _, _, others = grow_results(rows, MANY - FEW)
    meet(rows, edition, others, few)
    after = rows_read(owner, asked), rows_read(stranger, public)

    assert edition.duels.count() == MANY * (MANY - 1) // 2
    dear = {
        name: (then[name], count)
        for then, now in zip(before, after, strict=True)
        for name, count in now.items()
        if name not in ALL_RESULTS and count > MOST_TIMES * then[name] + SLACK_ROWS
    }
    assert dear == {}
