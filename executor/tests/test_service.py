"""The arena's own service: runs by id and key, pages, progress, records, verdicts, environments."""

from __future__ import annotations

import asyncio
import hashlib
import io
import sys
from typing import Any

import grpc
import pytest
from django.db import connections
from google.protobuf.duration_pb2 import Duration

from arena_kit.environment.record_archive import DuelArchive
from arena_kit.upload import inspection
from core.models import AuditEntry, Duel, JobFault, JobState, Promotion, Submission, Validation
from core.tests import factories
from core.tests.working import run as work_off
from executor.examples import run_sample_match
from executor.generated.arena.executor.v1 import executor_pb2 as v1
from executor.service import asked
from executor.tests.conftest import World
from executor.tests.serving import refused, run, serving, stubs, token_of, waiting
from tests.samples import FIRST, LAST, MIDDLE, tic_tac_toe, upload, zip_of

Code = grpc.StatusCode


def wanted(world: World, key: str = "", **fields: Any) -> v1.StartRunRequest:
    players = [v1.Player(name=name, version=one) for name, one in zip("ab", world.versions, strict=True)]
    return v1.StartRunRequest(key=key, environment=world.game.env_id, players=players, **fields)


def test_a_run_is_started_found_listed_and_cancelled(world: World) -> None:
    alice, olga = token_of(world.cast.alice), token_of(world.cast.olga)

    async def main() -> None:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            _, client = stubs(channel)
            first = await client.StartRun(
                wanted(world, "one", match_count=3, timeout=Duration(seconds=59, nanos=1)), metadata=alice
            )
            again = await client.StartRun(
                wanted(world, "one", match_count=3, timeout=Duration(seconds=60)), metadata=alice
            )
            assert (first.created, again.created, first.run) == (True, False, again.run)
            shown = first.run
            assert (shown.phase, shown.match_count, shown.environment) == (v1.PHASE_WAITING, 3, world.game.slug)
            span = shown.expire_time.ToDatetime() - shown.create_time.ToDatetime()
            assert 50 < span.total_seconds() <= 70
            others = [(await client.StartRun(wanted(world), metadata=alice)).run for _ in range(2)]
            for name in (v1.GetRunRequest(id=shown.id), v1.GetRunRequest(key="one")):
                assert (await client.GetRun(name, metadata=alice)).run == shown
            strange = await refused(client.GetRun(v1.GetRunRequest(id=shown.id), metadata=olga))
            assert strange.code() is Code.NOT_FOUND, "A caller sees its own runs alone."
            pages = [await client.ListRuns(v1.ListRunsRequest(page_size=2), metadata=alice)]
            token = pages[0].next_page_token
            pages.append(await client.ListRuns(v1.ListRunsRequest(page_size=2, page_token=token), metadata=alice))
            assert [[one.id for one in page.runs] for page in pages] == [[others[1].id, others[0].id], [shown.id]]
            assert pages[1].next_page_token == ""
            wrong = await refused(client.ListRuns(v1.ListRunsRequest(page_token="x"), metadata=alice))
            assert wrong.code() is Code.INVALID_ARGUMENT
            for _ in range(2):
                over = await client.CancelRun(v1.CancelRunRequest(id=shown.id), metadata=alice)
                assert (over.run.phase, over.run.error) == (v1.PHASE_CANCELLED, "Its owner has cancelled it.")

    run(main())


def test_organisers_may_give_a_run_a_priority(world: World) -> None:
    alice, olga = token_of(world.cast.alice), token_of(world.cast.olga)

    async def main() -> None:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            _, client = stubs(channel)
            for who, word, code in (
                (alice, "5", Code.PERMISSION_DENIED),
                (olga, "soon", Code.INVALID_ARGUMENT),
                (olga, "11", Code.INVALID_ARGUMENT),
            ):
                metadata = (*who, ("arena-priority", word))
                assert (await refused(client.StartRun(wanted(world), metadata=metadata))).code() is code
            for word in ("7", "-7"):
                # The second call joins the run, and changes nothing.
                await client.StartRun(wanted(world, "one"), metadata=(*olga, ("arena-priority", word)))

    run(main())
    assert Duel.objects.get(run__isnull=False).priority == 7
    assert AuditEntry.objects.get(action="set priority of duel").operator == "olga"


def test_a_watch_sends_what_is_new_until_the_run_is_over(world: World) -> None:
    who = token_of(world.cast.alice)

    def moved(state: JobState, **fields: Any) -> None:
        factories.moved(Duel.objects.filter(run__isnull=False), state, **fields)

    async def main() -> None:
        async with serving(world.database) as (server, address), grpc.aio.insecure_channel(address) as channel:
            _, client = stubs(channel)
            started = (await client.StartRun(wanted(world, match_count=4), metadata=who)).run
            watch = client.WatchRun(v1.WatchRunRequest(id=started.id), metadata=who)
            seen = [(await watch.read()).run]
            await world.database.ask(moved, JobState.RUNNING, matches_done=2)
            seen.append((await watch.read()).run)
            # A connection that broke: the client goes on after what it has seen.
            watch.cancel()
            await waiting(server, 0)
            watch = client.WatchRun(v1.WatchRunRequest(id=started.id, after_sequence=seen[-1].sequence), metadata=who)
            await waiting(server, 1)
            await world.database.ask(moved, JobState.SUCCEEDED, outcome="DRAW", draws=4, matches_done=4)
            seen += [message.run async for message in watch]
            assert [one.phase for one in seen] == [v1.PHASE_WAITING, v1.PHASE_PLAYING, v1.PHASE_SUCCEEDED]
            assert [one.matches_done for one in seen] == [0, 2, 4]
            assert (seen[-1].result.winner, seen[-1].result.draws) == ("", 4)

    run(main())


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("local_processes")
def test_the_sample_client_has_a_match_played_for_real_and_its_record_arrives_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    game = tic_tac_toe()
    players = [upload(game, name, source) for name, source in (("ann", FIRST), ("ben", MIDDLE))]
    for player in players:
        work_off(player.builds.get())
        work_off(player.validations.get())
    who = token_of(factories.user("olga", is_staff=True, is_superuser=True))
    versions = [f"submission:{player.pk}" for player in players]
    monkeypatch.setenv("EXECUTOR_TOKEN", who[0][1].removeprefix("Bearer "))

    def play() -> None:
        try:
            work_off(Duel.objects.get(run__isnull=False))
        finally:
            connections.close_all()

    async def main() -> tuple[int, v1.Run, bytes, bytes]:
        async with serving(None) as (server, address), grpc.aio.insecure_channel(address) as channel:
            _, client = stubs(channel)
            options = ["--environment", game.slug, "--address", address, "--match-id", "sample"]
            monkeypatch.setattr(sys, "argv", ["run_sample_match", *options, *versions])
            sample = asyncio.create_task(asyncio.to_thread(run_sample_match.main))
            await waiting(server, 1)
            started = (await client.GetRun(v1.GetRunRequest(key="sample"), metadata=who)).run
            early = await refused(client.GetRecord(v1.GetRecordRequest(id=started.id), metadata=who).read())
            assert early.code() is Code.FAILED_PRECONDITION
            await asyncio.to_thread(play)
            status = await sample
            over = (await client.GetRun(v1.GetRunRequest(id=started.id), metadata=who)).run
            call = client.GetRecord(v1.GetRecordRequest(id=started.id), metadata=who)
            content = b"".join([message.chunk async for message in call])
            return status, over, content, dict(await call.trailing_metadata())["sha256-bin"]

    status, over, content, digest = run(main())
    assert (status, over.phase) == (0, v1.PHASE_SUCCEEDED), over.error
    said = capsys.readouterr().out
    assert "STATUS_SUCCESS" in said
    assert f"winner: {versions[0]}" in said, "FIRST wins from either seat."
    assert hashlib.sha256(content).digest() == digest
    archive = DuelArchive(io.BytesIO(content))
    assert archive.match_count == 1
    assert over.result.moves == archive.index[0].moves > 0


def test_an_archive_arrives_in_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "MOST_SECONDS", 60.0)
    monkeypatch.setattr("executor.validating.ARCHIVE_BYTES", 4096)
    who = token_of(world.cast.alice)
    content = zip_of("import socket\n" + FIRST)

    def parts(data: bytes) -> list[v1.ValidateAgentRequest]:
        pieces = [data[start : start + 100] for start in range(0, len(data), 100)]
        named = v1.ValidateAgentRequest(environment=world.game.slug)
        return [named, *(v1.ValidateAgentRequest(chunk=piece) for piece in pieces)]

    async def main() -> None:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            _, client = stubs(channel)
            found = await client.ValidateAgent(parts(content), metadata=who)
            assert found.valid, found
            assert [(one.file, one.line > 0) for one in found.warnings if "socket" in one.message] == [
                ("player.py", True)
            ]
            large = await refused(client.ValidateAgent(parts(bytes(5000)), metadata=who))
            assert large.code() is Code.INVALID_ARGUMENT

    run(main())


def test_an_archive_plays_against_itself_on_trial_and_is_gone_afterwards(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "MOST_SECONDS", 60.0)
    monkeypatch.setattr("executor.playing.TRIAL_SECONDS", 0.01)
    who = token_of(world.cast.alice)

    async def tried(client: Any, source: str, state: JobState, **fields: object) -> Any:
        """Ask for self-play, and let its validation end in this state."""
        sent = [v1.ValidateAgentRequest(environment=world.game.slug, self_play=True, chunk=zip_of(source))]
        call = asyncio.ensure_future(client.ValidateAgent(sent, metadata=who))
        while not await world.database.ask(_trial_validated, state, fields):
            assert not call.done(), await call
            await asyncio.sleep(0.01)
        return await call

    async def main() -> None:
        async with serving(world.database) as (server, address), grpc.aio.insecure_channel(address) as channel:
            _, client = stubs(channel)
            good = await tried(client, FIRST, JobState.SUCCEEDED, matches_done=4)
            assert (good.valid, good.matches_played, list(good.errors)) == (True, 4, [])
            failed = {"error_code": "player_error", "error": "It raised an error."}
            bad = await tried(client, MIDDLE, JobState.FAILED, **failed)
            assert [(one.code, one.message) for one in bad.errors] == [("player_error", "It raised an error.")]
            ours = asyncio.ensure_future(tried(client, LAST, JobState.FAILED, fault=JobFault.PLATFORM, error="Full."))
            assert (await refused(ours)).code() is Code.UNAVAILABLE
            monkeypatch.setattr("executor.playing.patience", lambda _: 0.05)
            other = zip_of("x = 1\n" + FIRST)
            late = client.ValidateAgent(
                [v1.ValidateAgentRequest(environment=world.game.slug, self_play=True, chunk=other)], metadata=who
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


def test_environments_say_what_they_are_and_why_they_play_no_runs(world: World) -> None:
    task = factories.task()
    who = token_of(world.cast.alice)

    async def main() -> dict[str, v1.Environment]:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            answer = await stubs(channel)[1].DescribeEnvironments(v1.DescribeEnvironmentsRequest(), metadata=who)
            return {row.slug: row for row in answer.environments}

    found = run(main())
    assert (found[world.game.slug].seats, found[world.game.slug].closed_because) == (2, "")
    assert (found[task.slug].seats, found[task.slug].closed_because) == (1, "")


def test_a_seed_of_zero_is_a_seed_and_none_is_none() -> None:
    assert asked(v1.StartRunRequest(seed=0)).seed == 0
    assert asked(v1.StartRunRequest()).seed is None
    assert asked(v1.StartRunRequest()).match_count == 1
    assert len({asked(v1.StartRunRequest()).key for _ in range(3)}) == 3
