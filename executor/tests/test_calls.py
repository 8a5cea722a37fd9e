"""Who may call: tokens and certificates, plain text, rates, sizes, and what stays hidden."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import grpc
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from grpc_health.v1 import health_pb2, health_pb2_grpc
from pytest_django.fixtures import Settings

from core.models import TokenScope
from core.people.tokens import token_create
from executor.generated.executor import executor_pb2 as old
from executor.listening import Listening, listening
from executor.server import SERVICE
from executor.tests.certificates import Certificate, authority, signed
from executor.tests.conftest import World
from executor.tests.serving import refused, run, serving, stub, token_of

Code = grpc.StatusCode
USUAL_ADDRESS = "127.0.0.1:50051"
ASKED = old.ValidationRequest(environment="nowhere")
"""It is answered by NOT_FOUND, once its caller was let in."""


def test_only_a_valid_token_of_the_executor_opens(world: World) -> None:
    now = timezone.now()
    make = partial(token_create, owner=world.cast.alice, name="t", days=1)
    _, of_api = make(now=now)
    _, expired = make(now=now - timedelta(days=3), scope=TokenScope.EXECUTOR)
    _, good = make(now=now, scope=TokenScope.EXECUTOR)
    headers = ("", "Bearer", f"Basic {good}", "Bearer wrong", f"Bearer {of_api}", f"Bearer {expired}", f"bearer {good}")

    async def main() -> list[grpc.StatusCode]:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            client = stub(channel)
            found = []
            for header in headers[:-1]:
                metadata = (("authorization", header),) if header else ()
                found.append((await refused(client.ValidateAgent(ASKED, metadata=metadata))).code())
            good = await refused(client.ValidateAgent(ASKED, metadata=(("authorization", headers[-1]),)))
            assert good.code() is Code.NOT_FOUND
            return found

    assert set(run(main())) == {Code.UNAUTHENTICATED}


def test_calls_without_a_token_act_for_an_account_only_where_that_was_asked_for(world: World) -> None:
    async def main() -> None:
        async with (
            serving(world.database, without_token="alice") as (_, address),
            grpc.aio.insecure_channel(address) as channel,
        ):
            client = stub(channel)
            assert (await refused(client.ValidateAgent(ASKED))).code() is Code.NOT_FOUND
            wrong = await refused(client.ValidateAgent(ASKED, metadata=(("authorization", "Bearer x"),)))
            assert wrong.code() is Code.UNAUTHENTICATED

    run(main())


def test_an_organiser_without_a_second_factor_is_refused_where_it_is_required(world: World, settings: Settings) -> None:
    settings.REQUIRE_STAFF_TOTP = True
    who = token_of(world.cast.olga)

    async def main() -> grpc.aio.AioRpcError:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            return await refused(stub(channel).ValidateAgent(ASKED, metadata=who))

    assert "second factor" in str(run(main()).details())


def test_calls_wrong_tokens_and_sizes_have_limits(world: World, settings: Settings) -> None:
    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {"executor": "2/minute", "stranger": "2/minute"}
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": rates}
    who, other = token_of(world.cast.alice), token_of(world.cast.bob)

    async def main() -> None:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            client = stub(channel)
            large = old.MatchRequest(match_id="x" * 2_000_000)
            assert (await refused(client.RunMatch(large, metadata=who))).code() is Code.RESOURCE_EXHAUSTED
            assert (await refused(client.ValidateAgent(ASKED, metadata=who))).code() is Code.NOT_FOUND
            too_many = await refused(client.ValidateAgent(ASKED, metadata=who))
            assert (too_many.code(), too_many.details()) == (Code.RESOURCE_EXHAUSTED, "You have sent too many calls.")
            for expected in (Code.UNAUTHENTICATED, Code.UNAUTHENTICATED, Code.RESOURCE_EXHAUSTED):
                assert (await refused(client.ValidateAgent(ASKED))).code() is expected
            # From the same address, as behind a proxy.
            assert (await refused(client.ValidateAgent(ASKED, metadata=other))).code() is Code.NOT_FOUND
            assert (await client.HealthCheck(old.HealthCheckRequest())).version

    run(main())


def test_what_a_stranger_sends_is_not_read(world: World) -> None:
    async def nothing() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    async def main() -> None:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            for method in ("/executor.Executor/ValidateAgent", "/executor.Executor/RunMatch"):
                ask: grpc.aio.StreamUnaryMultiCallable[bytes, bytes] = channel.stream_unary(method)
                call = ask(nothing(), timeout=20)
                assert (await refused(call)).code() is Code.UNAUTHENTICATED
            run: grpc.aio.StreamUnaryMultiCallable[bytes, bytes] = channel.stream_unary("/executor.Executor/RunMatch")
            empty = run(iter(()), metadata=who)
            assert (await refused(empty)).code() is Code.INVALID_ARGUMENT

    who = token_of(world.cast.alice)
    run(main())


def test_a_mistake_of_the_arena_shows_no_trace(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: str, caller: object) -> None:
        raise ValueError("secret of the arena")

    monkeypatch.setattr("executor.playing.environment_row", broken)
    who = (*token_of(world.cast.alice), ("x-request-id", "abc-1"))

    async def main() -> grpc.aio.AioRpcError:
        async with serving(world.database) as (_, address), grpc.aio.insecure_channel(address) as channel:
            return await refused(stub(channel).ValidateAgent(ASKED, metadata=who))

    with caplog.at_level(logging.ERROR, "executor.calls"):
        error = run(main())
    assert error.code() is Code.INTERNAL
    assert "secret" not in str(error.details())
    assert "abc-1" in str(error.details())
    assert "secret of the arena" in caplog.text


def test_certificates_of_clients_name_accounts_and_renewed_ones_are_taken_up(world: World, tmp_path: Path) -> None:
    ca, strangers = authority(tmp_path), authority(tmp_path, "strangers")
    server = signed(tmp_path, "server", ca, "IP:127.0.0.1")
    clients = {name: signed(tmp_path, name, ca, f"DNS:{name}") for name in ("alice", "nobody")}
    clients["late"] = signed(tmp_path, "late", ca, "DNS:alice", days=-1)
    clients["forged"] = signed(tmp_path, "forged", strangers, "DNS:alice")
    where = Listening("127.0.0.1:0", str(server.certificate), str(server.key), str(ca.certificate))

    async def call(address: str, name: str, by: Certificate) -> grpc.StatusCode:
        key, certificate = clients[name].pair() if name else (None, None)
        trust = grpc.ssl_channel_credentials(by.pair()[1], key, certificate)
        async with grpc.aio.secure_channel(address, trust) as channel:
            try:
                await stub(channel).ValidateAgent(ASKED)
            except grpc.aio.AioRpcError as error:
                return error.code()
            return Code.OK

    async def main() -> None:
        async with serving(world.database, where) as (_, address):
            found = {name: await call(address, name, ca) for name in ("alice", "nobody", "late", "forged", "")}
            assert found == {
                "alice": Code.NOT_FOUND, "nobody": Code.UNAUTHENTICATED, "late": Code.UNAVAILABLE,
                "forged": Code.UNAVAILABLE, "": Code.UNAVAILABLE,
            }  # fmt: skip
            new = signed(tmp_path, "renewed", strangers, "IP:127.0.0.1")
            new.key.replace(server.key)
            new.certificate.replace(server.certificate)
            assert await call(address, "alice", strangers) is Code.NOT_FOUND
            assert await call(address, "alice", ca) is Code.UNAVAILABLE
            # Half of a renewal: the last whole pair stays.
            server.certificate.unlink()
            assert await call(address, "alice", strangers) is Code.NOT_FOUND

    run(main())


def test_health_and_reflection_answer_by_their_own_clients(world: World, tmp_path: Path) -> None:
    where = Listening(f"unix:{tmp_path}/executor.sock")

    async def main() -> list[int]:
        async with (
            serving(world.database, where, has_reflection=True) as (server, address),
            grpc.aio.insecure_channel(address) as channel,
        ):
            check = health_pb2_grpc.HealthStub(channel).Check
            found = [(await check(health_pb2.HealthCheckRequest(service=name))).status for name in ("", SERVICE)]
            server.calls.is_draining = True
            await server.tell_draining()
            found += [(await check(health_pb2.HealthCheckRequest(service=name))).status for name in ("", SERVICE)]
            return found

    assert run(main()) == [1, 1, 1, 2]


@pytest.mark.parametrize(
    ("address", "tls", "words"),
    [
        ("0.0.0.0:50051", "", "plain text"),
        ("arena.example.org:50051", "", "plain text"),
        ("50051", "", "neither HOST:PORT nor unix:PATH"),
        (USUAL_ADDRESS, "/nowhere", "has no file /nowhere/tls.crt"),
        ("0.0.0.0:50051", "/nowhere", "has no file /nowhere/tls.crt"),
    ],
)
def test_what_does_not_fit_together_is_refused_at_start(address: str, tls: str, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        call_command("run_executor", address=address, tls=tls, skip_checks=True)


@pytest.mark.parametrize("address", [USUAL_ADDRESS, "[::1]:50051", "localhost:1", "unix:/run/arena/executor.sock"])
def test_this_machine_is_served_in_plain_text(address: str) -> None:
    assert list(listening(address, "").problems()) == []


def test_the_folder_of_certificates_is_one_of_kubernetes(tmp_path: Path) -> None:
    where = "0.0.0.0:50051", str(tmp_path)
    # cert-manager writes the authority of the certificate itself beside it, which says nothing of clients.
    for name in ("tls.crt", "tls.key", "ca.crt"):
        (tmp_path / name).touch()
    assert listening(*where) == Listening("0.0.0.0:50051", f"{tmp_path}/tls.crt", f"{tmp_path}/tls.key")
    assert list(listening(*where).problems()) == []
    (tmp_path / "clients.crt").symlink_to(tmp_path / "gone")
    assert listening(*where).client_ca == f"{tmp_path}/clients.crt"
    assert len(list(listening(*where).problems())) == 1


def test_it_does_not_start_on_a_schema_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "close", lambda: None)
    monkeypatch.setattr("core.checks.schema.schema_missing", lambda _: ["core_agent.description"])
    with pytest.raises(CommandError, match="The database lacks core_agent.description. Run `manage.py migrate`"):
        call_command("run_executor", address=USUAL_ADDRESS, skip_checks=True)


def test_an_account_without_a_token_needs_a_developers_machine(settings: Settings) -> None:
    settings.DEBUG = False
    with pytest.raises(CommandError, match="your own machine"):
        call_command("run_executor", caller="alice", skip_checks=True)
