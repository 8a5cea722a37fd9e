"""Files in a real S3 server (SeaweedFS), and what becomes of the arena when the store answers wrong or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from core.errors import StoreFailed
from core.files.buckets import bucket_of, file_store
from core.files.object_storage import LEAST_BYTES, ObjectStorage
from core.files.storage import LocalStorage
from core.jobs.artifacts import store_is_down
from core.jobs.tests.test_artifacts import finish, running
from tests.object_proxy import FaultyProxy, faulty_proxy
from tests.object_stores import KEY, StoreServer, store_server

pytestmark = pytest.mark.object_store
DATA = bytes(range(256)) * 8192


@pytest.fixture(scope="module")
def server() -> Iterator[StoreServer]:
    with store_server() as made:
        yield made


@pytest.fixture
def proxy(server: StoreServer) -> Iterator[FaultyProxy]:
    with faulty_proxy(server.port) as made:
        yield made


@pytest.fixture
def store(proxy: FaultyProxy, server: StoreServer, settings: Settings, request: pytest.FixtureRequest) -> ObjectStorage:
    """The arena's store is that of the server, behind the proxy, under a prefix of this test's own."""
    entry = StoreServer(proxy.server_port, server.process).storages(f"test{abs(hash(request.node.name))}/files")
    settings.STORAGES = {**settings.STORAGES, "default": entry}
    made = storages["default"]
    assert isinstance(made, ObjectStorage)
    return made


def content(store: Storage, name: str) -> bytes:
    with store.open(name) as file:
        return bytes(file.read())


def test_the_store_behaves_like_a_folder(store: ObjectStorage, server: StoreServer) -> None:
    name = store.save("duels/1/claim/records.zip", ContentFile(DATA))
    assert (name, store.size(name)) == ("duels/1/claim/records.zip", len(DATA))
    assert content(store, name) == DATA
    assert not store.exists("duels/1")
    assert store.listdir("duels/1") == (["claim"], [])
    assert store.listdir("/duels/1/claim/") == ([], ["records.zip"])
    assert store.listdir("nothing") == ([], [])
    # Names are never used twice.
    assert store.save(name, ContentFile(b"another")) != name
    assert content(store, name) == DATA
    soon = datetime.now(UTC) + timedelta(minutes=5)
    assert name in store.files_before("duels/1/claim", soon)
    assert store.files_before("duels/1/claim", soon - timedelta(days=1)) == []
    # All of it is below the prefix of this arena.
    found = server.client().list_objects_v2(Bucket="arena-files", Prefix=store._bucket.prefix)
    assert found["KeyCount"] == 2
    store.delete(name)
    store.delete(name)
    assert not store.exists(name)
    with pytest.raises(FileNotFoundError):
        store.open(name)
    with pytest.raises(OSError, match="never changed"):
        store.open(name, "wb")


def test_a_part_of_a_file_is_fetched_without_the_rest(store: ObjectStorage, proxy: FaultyProxy) -> None:
    name = store.save("records.zip", ContentFile(DATA))
    proxy.asked.clear()
    with store.open(name) as file:
        file.seek(-10, io.SEEK_END)
        assert file.read() == DATA[-10:]
        file.seek(100)
        assert file.read(10) == DATA[100:110]
    start = len(DATA) - 10
    assert proxy.asked == ["HEAD", f"GET bytes={start}-{len(DATA) - 1}", f"GET bytes=100-{99 + LEAST_BYTES}"]
    proxy.asked.clear()
    with store.open(name) as file:
        assert b"".join(iter(lambda: file.read(4096), b"")) == DATA
    # Blocks grow, so a long file takes few requests.
    assert len(proxy.asked) == 4


@pytest.mark.parametrize("path", ["/storage/v1/s3", "storage/v1/s3/"])
def test_the_address_of_a_server_may_have_a_path_as_that_of_supabase(server: StoreServer, path: str) -> None:
    with faulty_proxy(server.port, "/storage/v1/s3") as supabase:
        address = StoreServer(supabase.server_port, server.process).address
        store = storages.create_storage(file_store(f"{address}/behind-a-path?region=eu-west-1&path={path}"))
        assert isinstance(store, ObjectStorage)
        name = store.save("duels/1/records.zip", ContentFile(DATA))
        assert content(store, name) == DATA
        assert store.listdir("duels/1") == ([], ["records.zip"])
        assert store.files_before("duels/1", datetime.now(UTC) + timedelta(minutes=5)) == [name]
        store.delete(name)
        assert not store.exists(name)
        # Without its path, the bucket is looked for at another address.
        with pytest.raises(OSError, match="object store"):
            storages.create_storage(file_store(address)).listdir("")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "code"),
    [("cut off", "store_failed"), ("503", "store_failed"), ("403", "store_failed"), ("507", "store_full")],
)
@pytest.mark.django_db
def test_a_store_that_fails_is_the_arenas_fault_and_leaves_no_file(
    store: ObjectStorage, proxy: FaultyProxy, players: list[Any], fault: str, code: str
) -> None:
    duel = running(players)
    proxy.set(fault)
    with pytest.raises(StoreFailed) as failed:
        finish(duel)
    assert failed.value.code == code
    assert KEY not in str(failed.value)
    assert "127.0.0.1" not in str(failed.value)
    assert store_is_down()
    with pytest.raises(OSError, match="object store"):
        store.exists("health")
    proxy.set("")
    assert store.listdir(f"duels/{duel.pk}") == ([], [])
    assert not store_is_down()
    finish(duel)


@pytest.mark.nightly
def test_what_changes_on_the_way_is_not_stored(store: ObjectStorage, proxy: FaultyProxy) -> None:
    proxy.set("changed on the way")
    with pytest.raises(OSError, match="object store"):
        store.save("records.zip", ContentFile(DATA))
    proxy.set("")
    assert not store.exists("records.zip")


def test_an_answer_that_breaks_off_is_asked_for_again(store: ObjectStorage, proxy: FaultyProxy) -> None:
    name = store.save("records.zip", ContentFile(DATA))
    proxy.set("half an answer", times=2)
    assert content(store, name) == DATA
    proxy.set("half an answer")
    with pytest.raises(OSError, match="object store"):
        content(store, name)


@pytest.mark.django_db
@pytest.mark.nightly
def test_files_are_copied_both_ways_and_a_broken_copy_goes_on(
    store: ObjectStorage, proxy: FaultyProxy, players: list[Any], settings: Settings, tmp_path: Path
) -> None:
    entry = settings.STORAGES["default"]
    settings.MEDIA_ROOT = tmp_path
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "core.files.storage.LocalStorage"}}
    with pytest.raises(CommandError, match="names no object store"):
        call_command("files_copy", "--to", "s3")
    duel = running(players)
    finish(duel)
    duel.refresh_from_db()
    kept = {str(field.name): content(LocalStorage(), str(field.name)) for field in (duel.records, duel.player_1_log)}
    settings.STORAGES = {**settings.STORAGES, "default": entry}
    proxy.set("503")
    with pytest.raises(CommandError, match=r"could not be copied.*Run it again"):
        call_command("files_copy", "--to", "s3")
    proxy.set("")
    said = io.StringIO()
    call_command("files_copy", "--to", "s3", stdout=said)
    call_command("files_copy", "--to", "s3", stdout=said)
    assert said.getvalue().splitlines()[-1].startswith("0 files")
    assert {name: content(store, name) for name in kept} == kept
    # Another content of the same size is noticed before anything is deleted.
    name = next(iter(kept))
    store.delete(name)
    store.save(name, ContentFile(bytes(len(kept[name]))))
    with pytest.raises(CommandError, match="another content"):
        call_command("files_copy", "--to", "s3", "--delete", stdout=said)
    assert LocalStorage().exists(name)
    store.delete(name)
    call_command("files_copy", "--to", "s3", "--delete", stdout=said)
    assert not any(LocalStorage().exists(name) for name in kept)
    call_command("files_copy", "--to", "local", "--delete", stdout=said)
    assert {name: content(LocalStorage(), name) for name in kept} == kept
    assert not any(store.exists(name) for name in kept)


@pytest.mark.slow
@pytest.mark.parametrize(
    "address",
    ["s3", "s3://host/bucket", "s3://key:secret@host", "s3://key:secret@host:port/bucket", "ftp://key:secret@host/bucket",
     "s3://key:secret@ref.supabase.co/storage/v1/s3/bucket", "s3://key:secret@host/bucket?path=a/../b",
     "s3://key:secret@host/bucket?zone=1", "s3://key:secret@host/bucket/../other"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_without_its_secret(address: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="STORAGE must be local") as refused:
        bucket_of(address)
    assert "secret@" not in str(refused.value)


def test_files_of_the_local_store_are_for_their_owner_alone(tmp_path: Path) -> None:
    entry = file_store("local")
    store = storages.create_storage(entry | {"OPTIONS": entry["OPTIONS"] | {"location": tmp_path}})
    umask = os.umask(0o022)
    try:
        name = store.save("archives/1/archive.zip", ContentFile(b"private"))
    finally:
        os.umask(umask)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "archives").stat().st_mode & 0o777 == 0o700


def test_an_address_names_every_part() -> None:
    bucket = bucket_of("s3://key:a%2Fb%2Bc@s3.example.org:444/arena/its/files?region=eu-central-1")
    assert (bucket.endpoint, bucket.name, bucket.prefix) == ("https://s3.example.org:444", "arena", "its/files/")
    assert (bucket.key, bucket.secret, bucket.region) == ("key", "a/b+c", "eu-central-1")
    assert "a/b+c" not in repr(bucket)
