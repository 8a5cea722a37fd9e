"""The native API: lists, and the rights to see and change objects."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.evaluations.selectors import ranking_list
from core.jobs.lifecycle import job_give_back
from core.models import Agent, Duel, JobFault, JobState, Recording, SeedList, SeedPurpose, Submission
from core.tests import factories
from core.tests.factories import Cast
from tests.samples import FIRST, LAST, zip_of
from web.api.authentication import HOW_TO_GET_ONE
from web.api.tests.conftest import Arena, Program
from web.api.tests.sending import file
from web.tests import scored
from web.tests.arena import damage_match

pytestmark = pytest.mark.django_db
V1 = "/api/v1/"


def get(client: Client, address: str, status: int = 200) -> Any:
    response = client.get(V1 + address)
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/json"
    return response.json()


def listed(client: Client, address: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = get(client, address)["results"]
    return rows


LISTS = [
    "environments/", "agents/", "submissions/", "tournaments/", "ratings/", "duels/", "evaluations/",
    "jobs/build/", "jobs/validation/", "jobs/duel/", "jobs/evaluation/", "jobs/recording/", "jobs/publication/",
]  # fmt: skip
LONG = ("log", "metrics", "episodes", "verification", "seeds")
"""Columns that may be large, which no list reads."""


@pytest.mark.slow
def test_a_list_takes_as_many_queries_for_many_rows_as_for_few(client: Client, arena: Arena) -> None:
    factories.publication(arena.stage.clara)
    scored.recording(arena.verified, Recording.Choice.BEST)
    few = {address: counted(client, address) for address in LISTS}
    for number in range(4):
        made = factories.ready(factories.agent(arena.cast.charlie, arena.stage.environment, f"more-{number}"))
        factories.duel(arena.stage.tournament, made, arena.stage.anna, number=100 + number, state=JobState.SUCCEEDED)
        factories.publication(made)
        evaluation = scored.evaluation(
            scored.submission(arena.cast.charlie, arena.cart_pole, f"low-{number}"), [1.0] * 20
        )
        scored.recording(evaluation, Recording.Choice.BEST)
    for address, (count, asked) in few.items():
        more, asked_of_many = counted(client, address)
        assert more >= count, address
        assert len(asked_of_many) == len(asked), address
        long = [name for name in LONG for query in asked_of_many if f'"."{name}"' in query.replace('" AS', '"')]
        assert long == [], address


def counted(client: Client, address: str) -> tuple[int, list[str]]:
    """How many rows a list has, and the queries that it takes."""
    with CaptureQueriesContext(connection) as queries:
        count = get(client, address)["count"]
    return count, [query["sql"] for query in queries]


def test_a_filter_that_a_list_has_not_is_refused_with_the_nearest_name(client: Client) -> None:
    for asked, said in (
        ("duels/?agnet=1", {"agnet": ["This list has no such filter: use agent."]}),
        ("agents/?pagesize=5", {"pagesize": ["This list has no such filter: use page_size."]}),
    ):
        answer = client.get(f"/api/v1/{asked}")
        assert (answer.status_code, answer.json()) == (400, said)
    listed = client.get("/api/v1/agents/?zzz=1").json()["zzz"][0]
    assert "environment" in listed
    assert "page_size" in listed


def test_lists_come_in_pages(client: Client, arena: Arena) -> None:
    page = get(client, "submissions/?page_size=2&page=2")
    assert (page["count"], len(page["results"])) == (5, 2)
    assert page["next"].endswith("/api/v1/submissions/?page=3&page_size=2")
    assert page["previous"].endswith("/api/v1/submissions/?page_size=2")
    for bad, status in (("page_size=0", 400), ("page_size=101", 400), ("page_size=x", 400), ("page=99", 404)):
        get(client, f"submissions/?{bad}", status)


def test_an_address_is_good_with_and_without_a_slash(client: Client, arena: Arena) -> None:
    assert get(client, "agents") == get(client, "agents/")


def test_an_unknown_address_is_answered_in_json(db: None, client: Client) -> None:
    for address in ("/api", "/api/", "/api/v2/agents/", "/api/v1/nothing", "/api/v1/duels/%0A1/"):
        for response in (client.get(address), client.post(address)):
            assert (response.status_code, response.json()) == (
                404, {"detail": "This address does not exist. /api/docs lists every address."},
            )  # fmt: skip


def test_environments(client: Client, arena: Arena) -> None:
    assert [row["slug"] for row in listed(client, "environments/?ordering=-name")] == ["tic-tac-toe", "cart-pole"]
    assert [row["slug"] for row in listed(client, "environments/?seats=1")] == ["cart-pole"]
    assert get(client, "environments/cart-pole/")["env_id"] == "CartPole-v1"
    get(client, "environments/nowhere/", 404)


def test_a_board_has_every_figure(client: Client, arena: Arena) -> None:
    board = get(client, "environments/cart-pole/board/?limit=1&offset=1")
    assert (board["count"], [row["owner"] for row in board["results"]]) == (2, ["bob"])
    assert get(client, "environments/cart-pole/board/?offset=-1", 400) == {
        "offset": ["Ensure this value is greater than or equal to 0."]
    }
    assert "is ranked by duels" in get(client, "environments/tic-tac-toe/board/", 400)["detail"]


def test_hidden_seeds_are_known_by_their_hash_alone(arena: Arena, program: Program) -> None:
    ranking = ranking_list(arena.cart_pole)
    assert ranking is not None
    for person in (None, arena.cast.alice, arena.cast.olga):
        client = program(person)
        seeds = {row["purpose"]: row for row in get(client, "environments/cart-pole/seeds/")}
        assert seeds[SeedPurpose.RANKING]["seeds"] is None
        assert seeds[SeedPurpose.RANKING]["sha256"] == ranking.sha256
        assert seeds[SeedPurpose.PRACTICE]["seeds"] == list(range(1, 11))
        status = 200 if person == arena.cast.olga else 403
        episodes = get(client, f"evaluations/{arena.verified.pk}/episodes/", status)
        for found in (get(client, f"evaluations/{arena.verified.pk}/"), episodes):
            assert not any(str(seed) in str(found) for seed in ranking.seeds)


def test_agents_by_owner_environment_and_name(client: Client, arena: Arena) -> None:
    assert {row["name"] for row in listed(client, "agents/?owner=ALICE")} == {"anna", "balance"}
    assert [row["name"] for row in listed(client, "agents/?environment=tic-tac-toe&name=ERT")] == ["berta"]
    assert [row["name"] for row in listed(client, "agents/?is_public=true")] == ["clara"]
    agent = Agent.objects.get(name="anna")
    assert get(client, f"agents/{agent.pk}/")["latest_number"] == 1
    get(client, f"agents/{2**80}/", 404)
    assert list(get(client, "agents/?ordering=owner__password", 400)) == ["ordering"]


def test_submissions_show_how_far_they_are(client: Client, arena: Arena) -> None:
    row = get(client, f"submissions/{arena.verified.submission.public_id}/")
    assert (row["agent"]["owner"], row["number"], row["form"]) == ("alice", 1, "PLAYER")
    assert [phase["kind"] for phase in row["phases"]] == ["build", "validation", "evaluation"]
    assert {one["agent"]["name"] for one in listed(client, "submissions/?owner=bob&form=SCRIPT")} == {"boast"}
    assert list(get(client, "submissions/?agent=0", 400)) == ["agent"]
    assert list(get(client, f"submissions/?agent={2**70}", 400)) == ["agent"]


def test_warnings_of_a_build_are_for_those_who_may_read_the_source(arena: Arena, program: Program) -> None:
    row = arena.verified.submission
    row.warnings = ["requirements.txt names my-own-package."]
    row.save()
    for person, sees in ((None, False), (arena.cast.bob, False), (arena.cast.alice, True), (arena.cast.olga, True)):
        answer = get(program(person), f"submissions/{row.public_id}/")
        assert answer["warnings"] == (row.warnings if sees else [])


def test_tournaments_their_tables_and_ratings(client: Client, arena: Arena) -> None:
    tournament = arena.stage.tournament
    assert [row["edition"] for row in listed(client, "tournaments/?environment=tic-tac-toe&state=RUNNING")] == [1]
    assert get(client, f"tournaments/{tournament.pk}/")["environment"] == "tic-tac-toe"
    table = listed(client, f"tournaments/{tournament.pk}/participants/")
    assert {row["submission"]["agent"]["name"] for row in table} == {"anna", "berta", "clara"}
    get(client, "tournaments/999999999/participants/", 404)
    factories.tournament([arena.stage.anna, arena.stage.berta], edition=2)
    ratings = listed(client, "ratings/?environment=tic-tac-toe")
    assert [row["submission"]["agent"]["name"] for row in ratings] == ["anna", "berta"]
    figures = ("value", "low", "high", "rank", "best_rank", "worst_rank", "best_chance", "live", "match_count")
    assert [ratings[0][name] for name in figures] == [1510, 1460, 1560, 1, 1, 2, 0.5, 1530, 10]


def test_duels_their_matches_and_replays(client: Client, arena: Arena) -> None:
    duel = arena.stage.duel
    anna = arena.stage.anna.agent_id
    assert [row["id"] for row in listed(client, f"duels/?agent={anna}&state=SUCCEEDED")] == [duel.pk]
    for bad in ("0", "1.5", str(2**70), "1e49"):
        assert list(get(client, f"duels/?agent={bad}", 400)) == ["agent"]
    row = get(client, f"duels/{duel.pk}/")
    assert (row["player_1"]["agent"]["name"], row["player_1_errors"], row["is_void"]) == ("anna", 1, False)
    matches = listed(client, f"duels/{duel.pk}/matches/?page_size=3")
    assert [(match["number"], match["first_player"]) for match in matches] == [(1, 1), (2, 2), (3, 1)]
    assert [match["faulty_player"] for match in matches] == [None, None, 1]
    match = get(client, f"duels/{duel.pk}/matches/1/")
    replay = get(client, f"duels/{duel.pk}/matches/1/replay/")
    assert replay["metadata"]["environment_version"] == "tic-tac-toe-v1"
    assert [frame["actions"] for frame in replay["frames"]][1] == {str(anna): match["actions"][0]}
    assert len(replay["frames"]) == len(match["actions"]) + 1
    for address in (f"duels/{duel.pk}/matches/9/", f"duels/{duel.pk}/matches/9/replay/", "duels/99/matches/"):
        get(client, address, 404)


def test_a_waiting_duel_has_no_matches_yet(client: Client, arena: Arena) -> None:
    duel = factories.duel(arena.stage.tournament, arena.stage.anna, arena.stage.clara, number=9, state=JobState.QUEUED)
    for address in ("matches/", "matches/1/", "matches/1/replay/"):
        assert "is waiting for a worker" in get(client, f"duels/{duel.pk}/{address}", 409)["detail"]


def test_a_record_that_does_not_fit_its_rules_is_said_to_be_so(client: Client, arena: Arena) -> None:
    damage_match(arena.stage.duel, 1, actions=(0, 0, 0))
    assert "does not fit its rules" in get(client, f"duels/{arena.stage.duel.pk}/matches/1/replay/", 404)["detail"]


def test_a_traceback_is_for_those_who_may_read_the_source(arena: Arena, program: Program) -> None:
    address = f"duels/{arena.stage.duel.pk}/matches/3/"
    for person, sees in ((None, False), (arena.cast.bob, False), (arena.cast.alice, True), (arena.cast.olga, True)):
        error = get(program(person), address)["error"]
        assert error.startswith("The player raised an exception")
        assert ("secret_move" in error) == sees


def test_evaluations_and_their_episodes(client: Client, arena: Arena) -> None:
    evaluation = arena.verified
    rows = listed(client, "evaluations/?environment=cart-pole&is_current=true&is_verified=true")
    assert [row["id"] for row in rows] == [evaluation.pk]
    assert [row["id"] for row in listed(client, f"evaluations/?submission={evaluation.submission.public_id}")] == [
        evaluation.pk
    ]
    row = get(client, f"evaluations/{evaluation.pk}/")
    assert (row["rank"], row["score"], row["order_secret"]) == (1, evaluation.score, None)
    assert sum(row["distribution"]["counts"]) == 20
    assert len(row["distribution"]["edges"]) == len(row["distribution"]["counts"]) + 1
    get(client, f"evaluations/{evaluation.pk}/episodes/", 403)
    seeds = ranking_list(arena.cart_pole)
    assert seeds is not None
    SeedList.objects.filter(pk=seeds.pk).update(revealed_at=timezone.now())
    episodes = get(client, f"evaluations/{evaluation.pk}/episodes/")
    assert episodes["count"] == 20
    assert [episode["seed"] for episode in episodes["results"]] == seeds.seeds
    assert get(client, f"evaluations/{evaluation.pk}/")["order_secret"] == evaluation.order_secret


def test_actions_of_an_episode_are_read_once_its_seeds_are_public(arena: Arena, program: Program) -> None:
    address = f"evaluations/{arena.verified.pk}/episodes/1/"
    for person, status in ((None, 403), (arena.cast.alice, 403), (arena.cast.olga, 200)):
        get(program(person), address, status)
    seeds = arena.verified.seed_list
    assert seeds is not None
    seeds.revealed_at = timezone.now()
    seeds.save()
    episode = get(program(None), address)
    assert (episode["seed"], episode["actions"]) == (seeds.seeds[0], [0, 1, 1])
    get(program(None), f"evaluations/{arena.verified.pk}/episodes/77/", 404)
    get(program(None), f"evaluations/{arena.reported.pk}/episodes/1/", 404)


def test_jobs_of_every_kind_with_what_one_may_know(arena: Arena, program: Program) -> None:
    made = factories.submission(factories.agent(arena.cast.alice, arena.stage.environment, "broken"))
    build = factories.build(
        made, JobState.FAILED, fault=JobFault.PLAYER, error="secret.py: line 3", log="resolving secret.py"
    )
    for person in (None, arena.cast.bob):
        client = program(person)
        get(client, f"jobs/build/{build.pk}/", 404)
        get(client, f"jobs/build/{build.pk}/log/", 404)
        assert listed(client, "jobs/build/?state=FAILED") == []
    factories.build(made)
    factories.validation(made)
    for person, error, status in (
        (None, "The owner can read why.", 403),
        (arena.cast.bob, "The owner can read why.", 403),
        (arena.cast.alice, "secret.py: line 3", 200),
        (arena.cast.olga, "secret.py: line 3", 200),
    ):
        client = program(person)
        row = get(client, f"jobs/build/{build.pk}/")
        assert (row["error"], row["submission"], row["queue_place"]) == (error, str(made.public_id), None)
        assert [one["id"] for one in listed(client, "jobs/build/?state=FAILED")] == [build.pk]
        log = get(client, f"jobs/build/{build.pk}/log/", status)
        assert log == ({"log": "resolving secret.py"} if status == 200 else log)
    client = program(None)
    assert get(client, f"jobs/duel/{arena.stage.duel.pk}/log/")["log"].startswith("anna v1 against berta v1")
    assert "There is no such kind of job" in get(client, "jobs/party/", 404)["detail"]
    get(client, "jobs/party/1/", 404)
    get(client, "jobs/party/1/log/", 404)


def test_a_waiting_job_says_what_it_waits_for_and_what_was_tried(arena: Arena, program: Program) -> None:
    made = factories.submission(factories.agent(arena.cast.alice, arena.stage.environment, "waiting"))
    factories.validation(made)
    build = factories.build(made, JobState.QUEUED)
    row = get(program(None), f"jobs/build/{build.pk}/")
    assert (row["queue_place"], row["history"]) == (1, None)
    assert row["wait"] == {
        "code": "no_worker",
        "sentence": "No worker serves its queue now; it is next in the queue.",
        "is_stuck": True,
        "until": None,
        "begins_in_seconds": None,
    }

    running = factories.build(made, JobState.RUNNING)
    assert get(program(arena.cast.alice), f"jobs/build/{running.pk}/")["wait"] is None
    job_give_back(job=running, code="disk_full", error="The disk is full.")
    row = get(program(arena.cast.alice), f"jobs/build/{running.pk}/")
    assert (row["wait"]["code"], row["wait"]["is_stuck"], row["queue_place"]) == ("delayed", False, None)
    assert row["wait"]["until"] == row["not_before"]
    assert [(one["number"], one["code"], one["error"]) for one in row["history"]] == [
        (1, "disk_full", "The disk is full.")
    ]
    assert set(row["history"][0]) == {"number", "started_at", "ended_at", "code", "error"}


def test_how_long_the_queues_are(client: Client, arena: Arena) -> None:
    factories.build(factories.submission(factories.agent(arena.cast.alice, arena.cart_pole)), JobState.QUEUED)
    counts = {row["kind"]: (row["waiting"], row["running"]) for row in get(client, "jobs/")}
    assert counts["build"] == (1, 0)
    assert set(counts) == {
        "build",
        "validation",
        "duel",
        "evaluation",
        "recording",
        "analysis",
        "drill",
        "sitting",
        "packagebuild",
        "rollout",
        "publication",
        "environmenttrial",
    }


def upload(**fields: Any) -> dict[str, Any]:
    return {"archive": file("player.zip", zip_of(FIRST)), **fields}


def test_an_agent_is_made_given_a_version_and_loses_it(arena: Arena, program: Program) -> None:
    alice = program(arena.cast.alice)
    response = alice.post(
        f"{V1}agents/", upload(name="fresh", environment="tic-tac-toe", algorithm="minimax", is_public="true")
    )
    assert response.status_code == 201, response.content
    made = response.json()
    assert (made["agent"]["name"], made["number"], made["algorithm"]) == ("fresh", 1, "minimax")
    agent = Agent.objects.get(name="fresh")
    assert (agent.owner, agent.is_public) == (arena.cast.alice, True)
    files = {"files": [file("player.py", LAST.encode()), file("empty.py", b"")]}
    second = alice.post(f"{V1}agents/{agent.pk}/submissions/", files)
    assert (second.status_code, second.json()["number"], second.json()["notes"]) == (201, 2, [])
    files = {"files": [file("player.py", LAST.encode()), file("empty.py", b"")]}
    repeated = alice.post(f"{V1}agents/{agent.pk}/submissions/", files).json()
    assert (repeated["id"], repeated["number"]) == (second.json()["id"], 2)
    assert repeated["notes"] == ["Version 2 has the same archive, so nothing new was uploaded."]
    address = f"{V1}submissions/{second.json()['id']}/"
    assert alice.delete(address).status_code == 204
    assert alice.delete(address).status_code == 204
    assert Submission.objects.get(public_id=second.json()["id"]).deleted_at is not None


@pytest.mark.parametrize(
    ("form", "field"),
    [
        (upload(name="anna", environment="tic-tac-toe"), "name"),
        (upload(name="no spaces", environment="tic-tac-toe"), "name"),
        (upload(environment="tic-tac-toe"), "name"),
        (upload(name="fresh", environment="nowhere"), "environment"),
        (upload(name="fresh"), "environment"),
        ({"name": "fresh", "environment": "tic-tac-toe"}, "archive"),
        (upload(name="fresh", environment="tic-tac-toe", files=[file("player.py")]), "archive"),
        ({"name": "fresh", "environment": "tic-tac-toe", "archive": file("player.zip", b"no zip")}, "archive"),
        ({"name": "fresh", "environment": "tic-tac-toe", "files": [file("a.py"), file("b.py")]}, "archive"),
        ({"name": "fresh", "environment": "tic-tac-toe", "files": [file("notes.txt")]}, "archive"),
    ],
)
def test_what_is_wrong_with_an_upload_is_said_at_its_field(
    arena: Arena, program: Program, form: dict[str, Any], field: str
) -> None:
    for sent in form.values():
        for one in sent if isinstance(sent, list) else [sent]:
            getattr(one, "seek", lambda _: None)(0)
    response = program(arena.cast.alice).post(f"{V1}agents/", form)
    # A refused archive has its typed reason as well.
    assert (response.status_code, [name for name in response.json() if name != "code"]) == (400, [field])
    assert not Agent.objects.filter(name="fresh").exists()


def test_only_the_owner_changes_an_agent(arena: Arena, program: Program) -> None:
    agent, submission = arena.stage.anna.agent, arena.stage.anna
    stranger = program(None)
    for response in (
        stranger.post(f"{V1}agents/", upload(name="fresh", environment="tic-tac-toe")),
        stranger.post(f"{V1}agents/{agent.pk}/submissions/", upload()),
        stranger.delete(f"{V1}submissions/{submission.public_id}/"),
    ):
        assert (response.status_code, response.json()) == (401, {"detail": HOW_TO_GET_ONE})
    for person in (arena.cast.bob, arena.cast.olga):
        assert program(person).post(f"{V1}agents/{agent.pk}/submissions/", upload()).status_code == 403
    assert program(arena.cast.bob).delete(f"{V1}submissions/{submission.public_id}/").status_code == 403
    assert program(arena.cast.olga).delete(f"{V1}submissions/{submission.public_id}/").status_code == 204


def test_an_archive_is_for_those_who_may_read_the_source(arena: Arena, program: Program) -> None:
    private, public = (f"{V1}submissions/{one.public_id}/archive.zip" for one in (arena.stage.anna, arena.stage.clara))
    for person, status in ((None, 403), (arena.cast.bob, 403), (arena.cast.alice, 200), (arena.cast.olga, 200)):
        response = program(person).get(private)
        assert response.status_code == status
        # Reading the file to its end closes it.
        b"".join(response)
    response = program(None).get(public)
    assert (b"".join(response), response["Content-Type"]) == (b"zip!", "application/zip")
    arena.stage.clara.deleted_at = timezone.now()
    arena.stage.clara.save()
    assert program(None).get(public).json() == {"detail": "The owner has deleted this version."}


def test_a_browser_that_is_logged_in_needs_the_csrf_token(arena: Arena, cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.alice)
    response = client.post(f"{V1}agents/", upload(name="fresh", environment="tic-tac-toe"))
    assert (response.status_code, list(response.json())) == (403, ["detail"])
    token = "a" * 32
    client.cookies["csrftoken"] = token
    response = client.post(
        f"{V1}agents/", upload(name="fresh", environment="tic-tac-toe"), headers={"X-CSRFToken": token}
    )
    assert response.status_code == 201


def test_a_void_duel_says_so(client: Client, arena: Arena) -> None:
    factories.moved(Duel.objects.filter(pk=arena.stage.duel.pk), JobState.FAILED)
    assert get(client, f"duels/{arena.stage.duel.pk}/")["is_void"] is True
