from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains

from arena_kit.environment.records import Fault, Outcome
from core.duels.pausing import jobs_pause
from core.duels.selectors import records_open
from core.duels.verdicts import verdict_keep
from core.jobs.control import job_cancel
from core.jobs.lifecycle import job_claim, job_fail, job_give_back, job_heartbeat
from core.models import CancelCode, Duel, JobFault, JobState, RecheckVerdict
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.strikes import duel_void
from web.conftest import As
from web.tests import played
from web.tests.arena import MATCH_COUNT, Stage, damage_match, lose_files, store

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"


def address(duel: Duel) -> str:
    return f"/duels/{duel.pk}/"


def html(client: Client, path: str, **headers: str) -> str:
    response = client.get(path, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def claimed(stage: Stage) -> Duel:
    waiting = played.waiting_duel(stage.tournament, stage.anna, stage.clara)
    duel = job_claim(kind=Duel, job_id=waiting.pk, worker="worker-1")
    assert duel is not None
    return duel


def linked_matches(page: str) -> list[int]:
    return [int(number) for number in re.findall(r"/matches/(\d+)/\"", page)]


def test_everyone_sees_outcome_counts_and_every_match_once(client: Client, stage: Stage) -> None:
    page = html(client, address(stage.duel))

    assert sorted(linked_matches(page)) == list(range(1, MATCH_COUNT + 1))
    won = (stage.duel.player_1_wins + 2, stage.duel.player_2_wins + 1)
    assert f"Matches won: anna v1 {won[0]}, berta v1 {won[1]}." in page
    for title in ("Won by anna v1", "Won by berta v1", "Forfeited by anna v1", "Forfeited by berta v1"):
        assert title in page
    assert "tic-tac-toe-v1" in page


def test_page_and_api_say_how_many_matches_were_distinct(client: Client, stage: Stage) -> None:
    page, address = f"/duels/{stage.duel.pk}/", f"/api/v1/duels/{stage.duel.pk}/"
    for count, line in ((41, "<dt>Distinct matches</dt><dd>41 of 60</dd>"), (None, None)):
        Duel.objects.filter(pk=stage.duel.pk).update(distinct_matches=count)

        assert client.get(address).json()["distinct_matches"] == count
        shown = client.get(page).content.decode()
        assert line in shown if line else "Distinct matches" not in shown


def test_matches_stand_under_the_result_they_had(client: Client, stage: Stage) -> None:
    page = html(client, address(stage.duel))

    forfeited = re.search(r'<ul class="matches player_2_error".*?</ul>', page, re.DOTALL)

    assert forfeited is not None
    assert linked_matches(forfeited[0]) == [4, 6]
    assert 'title="Match 4: 2 moves, berta v1 in the first seat"' in forfeited[0]


def test_the_list_can_be_narrowed_by_result_and_first_move(client: Client, stage: Stage) -> None:
    path = address(stage.duel)

    assert linked_matches(html(client, f"{path}?result=player_1_error")) == [3]
    even = linked_matches(html(client, f"{path}?first=2"))
    assert sorted(even) == list(range(2, MATCH_COUNT + 1, 2))
    assert linked_matches(html(client, f"{path}?result=player_1_error&first=2")) == []


@pytest.mark.parametrize("order", ["moves", "fewest"])
def test_the_longest_or_the_shortest_matches_can_come_first(client: Client, stage: Stage, order: str) -> None:
    page = html(client, f"{address(stage.duel)}?result=player_1&sort={order}")

    moves = [int(count) for count in re.findall(r": (\d+) moves?,", page)]
    assert len(moves) == stage.duel.player_1_wins
    assert moves == sorted(moves, reverse=order == "moves")
    assert moves[0] != moves[-1]


def test_a_duel_has_its_results_by_who_sat_first(client: Client, stage: Stage) -> None:
    shares = client.get(address(stage.duel)).context["shares"]
    assert [share.name for share in shares] == ["anna v1", "berta v1"]
    assert [share.won + share.drawn + share.lost for share in shares] == [30, 30]
    assert shares[0].won + shares[1].lost == stage.duel.player_1_wins + stage.duel.player_2_errors
    assert "anna v1 in the first seat: won" in html(client, address(stage.duel))


@pytest.mark.parametrize("query", ["result=everything", "first=3", "first=x", "sort=%00", "result=&first=&sort="])
def test_a_question_that_is_not_understood_shows_all_matches(client: Client, stage: Stage, query: str) -> None:
    assert len(linked_matches(html(client, f"{address(stage.duel)}?{query}"))) == MATCH_COUNT


def test_a_thousand_matches_ask_the_database_no_more_than_ten(
    client: Client, stage: Stage, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    duel = played.play(played.waiting_duel(stage.tournament, stage.anna, stage.clara, 1000))

    with django_assert_max_num_queries(3):
        assert len(linked_matches(html(client, address(duel)))) == 1000


def test_a_waiting_duel_says_so_and_asks_again(client: Client, stage: Stage) -> None:
    duel = played.waiting_duel(stage.tournament, stage.anna, stage.clara)

    page = html(client, address(duel))

    assert "No worker serves its queue now; it is next in the queue." in page
    assert f'hx-get="/duels/{duel.pk}/" hx-trigger="news" hx-swap="outerHTML" data-live' in page
    assert "web/live.js" in page


def test_a_duel_that_is_tried_again_says_what_went_wrong(client: Client, stage: Stage) -> None:
    duel = claimed(stage)
    job_give_back(job=duel, code="engine_down", error=f"The engine did not answer. {HOSTILE}")

    page = html(client, address(duel))

    duel.refresh_from_db()
    assert duel.not_before is not None
    assert f"{duel.not_before.astimezone(UTC):%H:%M} UTC (attempt 2 of" in page
    assert "The last attempt failed: The engine did not answer." in page
    assert "Duel: 1 failed attempt" in page
    assert HOSTILE not in page


def test_a_paused_duel_has_not_failed(client: Client, stage: Stage) -> None:
    duel = played.waiting_duel(stage.tournament, stage.anna, stage.clara)
    jobs_pause(Duel.objects.filter(pk=duel.pk), because="The cup is paused.")
    page = html(client, address(duel))
    assert "The cup is paused. It goes on when the organisers let it." in page
    assert "The last attempt failed" not in page


def test_progress_is_live_and_ends_with_the_duel(client: Client, stage: Stage) -> None:
    duel = claimed(stage)
    job_heartbeat(job=duel, progress={"matches_done": 4})
    part = {"HX-Request": "true", "HX-Target": "duel"}

    running = html(client, address(duel), **part)
    factories.moved(Duel.objects.filter(pk=duel.pk), JobState.QUEUED)
    played.play(Duel.objects.get(pk=duel.pk))
    over = html(client, address(duel), **part)

    assert '<progress max="10" value="4"' in running
    assert "hx-get" in running
    assert "<html" not in running
    assert "hx-get" not in over
    assert len(linked_matches(over)) == 10


def test_a_struck_duel_shows_who_lost_nothing_and_why(client: Client, stage: Stage, cast: Cast) -> None:
    duel_void(duel=stage.duel, reason=f"Wrong clock. {HOSTILE}", user=cast.olga)

    page = html(client, address(stage.duel))

    assert "Void." in page
    assert "Wrong clock." in page
    assert "counts for neither side" in page
    assert "Winner" not in page
    assert HOSTILE not in page


def test_duels_that_could_not_be_played_say_why(client: Client, stage: Stage) -> None:
    failed, cancelled = claimed(stage), played.waiting_duel(stage.tournament, stage.berta, stage.clara)
    job_fail(job=failed, fault=JobFault.PLATFORM, code="engine_down", error="The engine did not answer.")
    job_cancel(job=cancelled, code=CancelCode.BY_ORGANISER, reason="The edition was stopped.")

    for duel, word, reason in (
        (failed, "Could not be played.", "The engine did not answer."),
        (cancelled, "Cancelled.", "The edition was stopped."),
    ):
        page = html(client, address(duel))
        assert word in page
        assert reason in page
        assert "No match was played." in page
        assert "hx-get" not in page


@pytest.mark.parametrize("number", [0, 10**15, 10**30])
def test_a_duel_that_does_not_exist_is_not_found(client: Client, db: None, number: int) -> None:
    assert client.get(f"/duels/{number}/").status_code == 404


def test_lost_records_leave_the_result(client: Client, stage: Stage) -> None:
    lose_files(stage.duel)

    page = html(client, address(stage.duel))

    assert "The records of this duel are no longer stored." in page
    assert "Matches won: anna v1" in page


def test_damaged_records_leave_the_result(client: Client, stage: Stage) -> None:
    with stage.duel.records.storage.open(str(stage.duel.records.name), "wb") as file:
        file.write(b"PK\x03\x04 nothing that a zip would hold")

    page = html(client, address(stage.duel))

    assert "damaged" in page
    assert "Matches won: anna v1" in page


def test_a_players_log_is_offered_to_those_who_may_read_it(stage: Stage, cast: Cast, visit: As) -> None:
    log = f"/duels/{stage.duel.pk}/logs/player_1/"

    assertContains(visit(cast.alice).get(address(stage.duel)), log)
    assertContains(visit(cast.olga).get(address(stage.duel)), log)
    assertNotContains(visit(cast.bob).get(address(stage.duel)), log)
    assertNotContains(visit(None).get(address(stage.duel)), log)


def test_records_that_contradict_their_rules_still_list_their_matches(client: Client, stage: Stage) -> None:
    damage_match(stage.duel, 1, actions=(0, 0))

    assert len(linked_matches(html(client, address(stage.duel)))) == MATCH_COUNT


def test_a_duel_shows_by_what_it_can_be_checked(client: Client, stage: Stage) -> None:
    page = html(client, address(stage.duel))

    assert "How to check this duel" in page
    assert "The arena has not checked this record yet" in page
    for text in (*played.DIGESTS, stage.duel.record_sha256, "tic-tac-toe-v1", f"seed {stage.duel.seed}"):
        assert text in page
    number = stage.duel.pk
    assert f"arena recheck duel-{number}-records.zip</pre>" in page
    assert f"python manage.py recheck duel {number} --replay-players</pre>" in page
    assert "How to check this duel" not in html(client, address(claimed(stage)))


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (RecheckVerdict.VERIFIED, "Verified"),
        (RecheckVerdict.MISMATCH, "Record does not verify"),
        (RecheckVerdict.UNCHECKABLE, "Cannot be checked here"),
    ],
)
def test_what_checking_a_duel_brought_is_shown_with_what_was_looked_at(
    client: Client, stage: Stage, verdict: RecheckVerdict, words: str
) -> None:
    verdict_keep(job=stage.duel, verdict=verdict, verification=f"Match 3 is odd. {HOSTILE}")

    page = html(client, address(stage.duel))

    shown = [choice for choice in ("Verified", "Record does not verify", "Cannot be checked here") if choice in page]
    assert shown == [words]
    assert "Match 3 is odd." in page
    assert HOSTILE not in page


def test_matches_that_repeat_others_are_grouped(client: Client, stage: Stage) -> None:
    with records_open(stage.duel) as archive:
        record = archive.record()
    won = [match for match in record.matches if match.outcome is Outcome.PLAYER_1 and match.fault is Fault.NONE]
    alike = tuple(won[0].number if match in won else match.number for match in record.matches)
    store(stage.duel, replace(record, alike=alike))

    page = client.get(f"/duels/{stage.duel.pk}/")

    assertContains(page, f"{len(won)} matches, 1 different")
    assertContains(page, f"{len(won)} times")
