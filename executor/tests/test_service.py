"""The older executor's calls: what is played once, what a result says, and with which status a call is refused."""

from __future__ import annotations

import asyncio
import io
import random
import sys
import zipfile
from typing import Any

import grpc
import pytest
from django.db import connections
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from pytest_django.fixtures import Settings

from arena_kit.upload import inspection
from core.duels.run_selectors import run_result, run_rows
from core.duels.selectors import records_open
from core.jobs.workers import worker_appear
from core.models import AuditEntry, Duel, JobFault, JobState, Promotion, Run, Submission, Validation
from core.tests import factories
from core.tests.working import run as work_off
from core.version import arena_version
from executor.examples import run_sample_match
from executor.generated.executor import executor_pb2 as old
from executor.tests.conftest import World
from executor.tests.serving import refused, run, serving, stub, token_of, waiting
from tests.samples import FIRST, LAST, MIDDLE, tic_tac_toe, upload, zip_of

Code = grpc.StatusCode


def match(world: World, **changes: Any) -> old.MatchRequest:
    agents = [old.AgentData(agent_id=name, docker_image=one) for name, one in zip("ab", world.versions, strict=True)]
    fields: dict[str, Any] = {"match_id": "match_1", "environment": world.game.slug, "agents": agents}
    return old.MatchRequest(**fields | changes)


async def in_line(world: World, count: int = 1) -> None:
    """Wait until so many runs are in line."""
    while await world.database.ask(Run.objects.count) < count:  # noqa: ASYNC110  (another program is waited for)
        await asyncio.sleep(0.01)


def ended(state: JobState, **fields: Any) -> None:
    factories.moved(Duel.objects.filter(run__isnull=False), state, **fields)


def test_two_calls_with_one_id_get_the_same_result(world: World) -> None:
    who = token_of(world.cast.alice)

    async def main() -> list[old.MatchResponse]:
        async with serving(world.database) as (server, address), grpc.aio.insecure_channel(address) as channel:
            client = stub(channel)
            calls = [client.RunMatch(match(world, record_replay=True), metadata=who) for _ in range(2)]
            await waiting(server, 2)
            result = {"outcome": "PLAYER_2", "player_1_errors": 1, "draws": 0, "player_2_score": 1.0}
            await world.database.ask(ended, JobState.SUCCEEDED, **result)
            return [
                *[await call for call in calls],
                await client.RunMatch(match(world, record_replay=True), metadata=who),
            ]

    first, second, late = run(main())
    assert first == second == late
    assert (first.status, first.match_id, first.winner_agent_id) == (old.STATUS_SUCCESS, "match_1", "b")
    assert [(one.agent_id, one.score, one.errors) for one in first.agent_results] == [("a", 0.0, 1), ("b", 1.0, 0)]
    assert first.execution_time_sec == 5.0
    duel = Duel.objects.get(run__isnull=False)
    assert first.replay_url.endswith(f"/duels/{duel.pk}/matches/1/replay.json")
    assert first.replay_html_url.endswith(f"/duels/{duel.pk}/matches/1/replay.html")


def test_the_callers_words_come_back_and_several_matches_are_one_run(world: World) -> None:
    who = token_of(world.cast.alice)
    agents = [
        old.AgentData(agent_id=name, docker_image=one, version=f"v-{name}", metadata={"lr": "0.1", "of": name})
        for name, one in zip("ab", world.versions, strict=True)
    ]

    async def main() -> old.MatchResponse:
        async with serving(world.database) as (server, address), grpc.aio.insecure_channel(address) as channel:
            call = stub(channel).RunMatch(match(world, agents=agents, match_count=4, seed=0), metadata=who)
            await waiting(server, 1)
            result = {"outcome": "PLAYER_1", "player_1_wins": 3, "draws": 1, "matches_done": 4}
            await world.database.ask(ended, JobState.SUCCEEDED, **result)
            answer: old.MatchResponse = await call
            return answer

    answer = run(main())
    assert [(one.version, dict(one.metadata)) for one in answer.agent_results] == [
        ("v-a", {"lr": "0.1", "of": "a"}), ("v-b", {"lr": "0.1", "of": "b"}),
    ]  # fmt: skip
    assert (answer.winner_agent_id, answer.draws, answer.agent_results[0].wins) == ("a", 1, 3)
    duel = Duel.objects.get(run=int(answer.run_id))
    assert (duel.match_count, duel.seed) == (4, 0)


def test_a_version_is_found_by_the_name_of_the_image_that_was_submitted(world: World) -> None:
    who = token_of(world.cast.alice)
    name = "registry.example.org:5000/me/player:v1"
    for row in (world.mine, world.rival):
        # Of two versions with one name the caller's own is meant.
        Submission.objects.filter(pk=row.pk).update(image_name=name)
    agents = [
        old.AgentData(agent_id="a", docker_image=name),
        old.AgentData(agent_id="b", docker_image=world.versions[1]),
    ]

    async def main() -> None:
        async with serving(world.database) as (server, address), grpc.aio.insecure_channel(address) as channel:
            call = stub(channel).RunMatch(match(world, agents=agents), metadata=who)
            await waiting(server, 1)
            call.cancel()

    run(main())
    duel = Duel.objects.get(run__isnull=False)
    assert (duel.player_1, duel.player_2) == (world.mine, world.rival)


def test_organisers_may_give_a_run_a_priority(world: World) -> None:
    alice, olga = token_of(world.cast.alice), token_of(world.cast.olga)

    async def main() -> None:
        async with serving(world.database) as (server, address), grpc.aio.insecure_channel(address) as channel:
            client = stub(channel)
            for who, word, code in (
                (alice, "5", Code.PERMISSION_DENIED),
                (olga, "soon", Code.INVALID_ARGUMENT),
                (olga, "11", Code.INVALID_ARGUMENT),
            ):
                metadata = (*who, ("arena-priority", word))
                assert (await refused(client.RunMatch(match(world), metadata=metadata))).code() is code
            for count, word in enumerate(("7", "-7"), start=1):
                # The second call joins the run, and changes nothing.
                client.RunMatch(match(world), metadata=(*olga, ("arena-priority", word)))
                await waiting(server, count)

    run(main())
    assert Duel.objects.get(run__isnull=False).priority == 7
    assert AuditEntry.objects.get(action="set priority of duel").operator == "olga"


ANSWERS: list[tuple[JobState, dict[str, Any], int, str]] = [
    (JobState.FAILED, {"fault": JobFault.PLATFORM, "public_error": "No engine."}, old.STATUS_ERROR, "No engine."),
    (JobState.CANCELLED, {"public_error": "Stopped."}, old.STATUS_CANCELLED, "Stopped."),
    (JobState.CANCELLED, {"cancel_code": "time_over", "public_error": "Late."}, old.STATUS_TIMEOUT, "Late."),
    (JobState.SUCCEEDED, {}, old.STATUS_SUCCESS, ""),
]


def test_what_happens_in_a_match_is_an_answer(world: World) -> None:
    who = token_of(world.cast.alice)

    async def main() -> None:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            for number, (state, fields, status, error) in enumerate(ANSWERS, start=1):
                call = stub(channel).RunMatch(match(world, match_id=f"match_{number}"), metadata=who)
                await in_line(world, number)
                await world.database.ask(ended, state, **fields)
                answer = await call
                assert (answer.status, answer.error_message, answer.winner_agent_id) == (status, error, "")
                assert answer.replay_url == ""

    run(main())


def named(*versions: str, by_url: bool = False) -> dict[str, Any]:
    images, urls = (("",) * len(versions), versions) if by_url else (versions, ("",) * len(versions))
    pairs = enumerate(zip(images, urls, strict=True))
    return {"agents": [old.AgentData(agent_id=f"a{n}", docker_image=image, code_url=url) for n, (image, url) in pairs]}


REFUSED: dict[str, tuple[grpc.StatusCode, dict[str, Any]]] = {
    "no id": (Code.INVALID_ARGUMENT, {"match_id": ""}),
    "a long id": (Code.INVALID_ARGUMENT, {"match_id": "x" * 201}),
    "one agent": (Code.INVALID_ARGUMENT, named("submission:1")),
    "addresses of code": (Code.INVALID_ARGUMENT, named("https://a.example/a.zip", "/b.py", by_url=True)),
    "foreign images": (Code.NOT_FOUND, named("a.example/agent:latest", "agent-b")),
    "an unknown environment": (Code.NOT_FOUND, {"environment": "pong-on-mars"}),
    "unknown versions": (Code.NOT_FOUND, named("submission:999998", "submission:999999")),
    "too long": (Code.INVALID_ARGUMENT, {"timeout_sec": 3601}),
}


FIELDS = {
    **dict.fromkeys(("no id", "a long id"), "match_id"),
    **dict.fromkeys(("one agent", "addresses of code", "foreign images", "unknown versions"), "agents"),
    "an unknown environment": "environment",
    "too long": "timeout_sec",
}


def test_with_which_status_a_request_is_refused(world: World, settings: Settings) -> None:
    alice, charlie = token_of(world.cast.alice), token_of(world.cast.charlie)
    factories.rating(world.mine, 1500, rank=2, worst_rank=2)
    settings.QUOTAS = {**settings.QUOTAS, "challenges_per_day": 1}
    mine = Submission.objects.filter(pk=world.mine.pk)

    async def main() -> None:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            play = stub(channel).RunMatch
            for case, (code, changes) in REFUSED.items():
                status = await refused(play(match(world, **changes), metadata=alice))
                assert (case, status.code()) == (case, code)
                # Clients that read no status details find the field in the words.
                assert str(status.details()).split(":")[0].split("[")[0].split(".")[0] == FIELDS[case]
            others = await refused(play(match(world), metadata=charlie))
            assert others.code() is Code.PERMISSION_DENIED
            await world.database.ask(mine.update, deleted_at=factories.NOON)
            deleted = await refused(play(match(world), metadata=alice))
            assert deleted.code() is Code.FAILED_PRECONDITION
            await world.database.ask(mine.update, deleted_at=None)
            call = play(match(world), metadata=alice)
            await in_line(world)
            taken = await refused(play(match(world, timeout_sec=7), metadata=alice))
            assert taken.code() is Code.ALREADY_EXISTS
            full = await refused(play(match(world, match_id="match_2"), metadata=alice))
            assert full.code() is Code.RESOURCE_EXHAUSTED
            assert retry_seconds(full) > 0
            call.cancel()

    run(main())
    assert Run.objects.count() == 1


def retry_seconds(error: grpc.aio.AioRpcError) -> int:
    """Return the delay that google.rpc.RetryInfo names in the trailing metadata."""
    details = dict(error.trailing_metadata() or ())["grpc-status-details-bin"]
    assert isinstance(details, bytes)
    info = RetryInfo()
    assert any(detail.Unpack(info) for detail in Status.FromString(details).details)
    return int(info.retry_delay.seconds)


@pytest.mark.slow
def test_code_is_looked_at_and_never_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "MOST_SECONDS", 60.0)
    who = token_of(world.cast.alice)
    ill = zip_of("raise SystemExit(1)\nx =")

    async def main() -> None:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            look = stub(channel).ValidateAgent
            for code, word in ((zip_of(FIRST), ""), (b"no zip", "zip"), (ill, "player.py")):
                request = old.ValidationRequest(agent_id="a", code_zip=code, environment=world.game.slug)
                answer = await look(request, metadata=who)
                assert answer.valid == (not word), answer
                assert word in " ".join(answer.errors)
            unknown = await refused(look(old.ValidationRequest(code_zip=b"x"), metadata=who))
            assert unknown.code() is Code.NOT_FOUND

    run(main())


def test_an_archive_is_refused_for_what_the_operator_names(
    world: World, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(inspection, "MOST_SECONDS", 300.0)
    who = token_of(world.cast.alice)
    request = old.ValidationRequest(
        agent_id="a", code_zip=zip_of(FIRST + "import subprocess\n"), environment=world.game.slug
    )

    async def main() -> None:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            look = stub(channel).ValidateAgent
            warned = await look(request, metadata=who)
            assert (warned.valid, len(warned.warnings)) == (True, 1)
            settings.UPLOAD_REFUSES = ["imports_subprocess"]
            judged = await look(request, metadata=who)
            assert (judged.valid, [*judged.errors], [*judged.warnings]) == (False, [*warned.warnings], [])

    run(main())


@pytest.mark.nightly
def test_archives_of_50_mib_are_looked_at_and_larger_ones_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "MOST_SECONDS", 60.0)
    who = token_of(world.cast.alice)
    noise = random.Random(1).randbytes(50 * 2**20 - 1000)
    file = io.BytesIO(zip_of(FIRST))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("weights.bin", noise)
    assert len(file.getvalue()) <= 50 * 2**20

    async def main() -> None:
        async with serving(world.database) as (_, address):
            options = [("grpc.max_send_message_length", -1)]
            async with grpc.aio.insecure_channel(address, options=options) as channel:
                look = stub(channel).ValidateAgent
                good = old.ValidationRequest(code_zip=file.getvalue(), environment=world.game.slug)
                assert (await look(good, metadata=who)).valid
                for size, code in ((51 * 2**20, Code.INVALID_ARGUMENT), (65 * 2**20, Code.RESOURCE_EXHAUSTED)):
                    large = old.ValidationRequest(code_zip=bytes(size), environment=world.game.slug)
                    assert (await refused(look(large, metadata=who))).code() is code

    run(main())


def test_health_is_for_everybody_and_names_the_matches_that_are_played(world: World) -> None:
    def work() -> None:
        worker_appear(name="host:1", host="host", pid=1, queue="duel", version="1", python="3")
        factories.tournament([world.mine, world.rival])
        factories.moved(Duel.objects.all(), JobState.RUNNING)

    async def main() -> None:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            ask = stub(channel).HealthCheck
            before = await ask(old.HealthCheckRequest())
            assert (before.healthy, before.version, before.active_matches) == (False, arena_version(), 0)
            await world.database.ask(work)
            now = await ask(old.HealthCheckRequest())
            assert (now.healthy, now.active_matches, now.queued_matches) == (True, 1, 0)
            await world.database.ask(factories.moved, Duel.objects.all(), JobState.QUEUED)
            later = await ask(old.HealthCheckRequest())
            assert (later.active_matches, later.queued_matches) == (0, 1)

    run(main())


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("local_processes")
def test_the_sample_client_has_a_match_played_for_real(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    game = tic_tac_toe()
    players = [upload(game, name, source) for name, source in (("ann", FIRST), ("ben", MIDDLE))]
    for player in players:
        work_off(player.builds.get())
        work_off(player.validations.get())
    olga = factories.user("olga", is_staff=True, is_superuser=True)
    versions = [f"submission:{player.pk}" for player in players]
    monkeypatch.setenv("EXECUTOR_TOKEN", token_of(olga)[0][1].removeprefix("Bearer "))

    def play() -> None:
        try:
            work_off(Duel.objects.get(run__isnull=False))
        finally:
            connections.close_all()

    async def main() -> int:
        async with serving(None) as (server, address):
            options = ["--environment", game.slug, "--address", address, "--match-id", "sample"]
            monkeypatch.setattr(sys, "argv", ["run_sample_match", *options, *versions])
            sample = asyncio.create_task(asyncio.to_thread(run_sample_match.main))
            await waiting(server, 1)
            await asyncio.to_thread(play)
            return await sample

    assert run(main()) == 0
    said = capsys.readouterr().out
    assert "STATUS_SUCCESS" in said
    assert f"winner: {versions[0]}" in said, "FIRST wins from either seat."
    result = run_result(run_rows(olga).get())
    assert result is not None
    with records_open(Duel.objects.get(run__isnull=False)) as archive:
        assert result.steps == archive.index[0].moves > 0


def test_an_archive_plays_against_itself_on_trial_and_is_gone_afterwards(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "MOST_SECONDS", 60.0)
    monkeypatch.setattr("executor.playing.TRIAL_SECONDS", 0.01)
    who = token_of(world.cast.alice)

    async def tried(client: Any, source: str, state: JobState, **fields: object) -> Any:
        """Ask for self-play, and let its validation end in this state."""
        sent = old.ValidationRequest(environment=world.game.slug, self_play=True, code_zip=zip_of(source))
        call = asyncio.ensure_future(client.ValidateAgent(sent, metadata=who))
        while not await world.database.ask(_trial_validated, state, fields):
            assert not call.done(), await call
            await asyncio.sleep(0.01)
        return await call

    async def main() -> None:
        async with serving(world.database) as (server, address), grpc.aio.insecure_channel(address) as channel:
            client = stub(channel)
            good = await tried(client, FIRST, JobState.SUCCEEDED, matches_done=4)
            assert (good.valid, good.matches_played, list(good.errors)) == (True, 4, [])
            failed = {"error_code": "player_error", "error": "It raised an error."}
            bad = await tried(client, MIDDLE, JobState.FAILED, **failed)
            assert [(one.code, one.message) for one in bad.findings if one.is_error] == [
                ("player_error", "It raised an error.")
            ]
            ours = asyncio.ensure_future(tried(client, LAST, JobState.FAILED, fault=JobFault.PLATFORM, error="Full."))
            assert (await refused(ours)).code() is Code.UNAVAILABLE
            monkeypatch.setattr("executor.playing.patience", lambda _: 0.05)
            other = zip_of("x = 1\n" + FIRST)
            late = client.ValidateAgent(
                old.ValidationRequest(environment=world.game.slug, self_play=True, code_zip=other), metadata=who
            )
            assert (await refused(late)).code() is Code.DEADLINE_EXCEEDED
            while server.playing._endings:  # noqa: ASYNC110  (what the calls left)
                await asyncio.sleep(0.01)

    run(main())
    trials = Submission.objects.filter(is_trial=True)
    assert (trials.count(), trials.filter(deleted_at=None).count()) == (4, 0)
    assert not Submission.objects.validated().filter(is_trial=True).exists()
    assert not Promotion.objects.exists()


def _trial_validated(state: JobState, fields: dict[str, object]) -> bool:
    trial = Submission.objects.filter(is_trial=True, deleted_at=None).first()
    if trial is None:
        return False
    factories.moved(trial.builds.all(), JobState.SUCCEEDED)
    made = factories.validation(trial, JobState.QUEUED)
    factories.moved(Validation.objects.filter(pk=made.pk), state, **fields)
    return True
