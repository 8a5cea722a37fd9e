"""Parts of the season of faults that need no season: the store that it breaks, and the kinds that it deals."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from pytest_django.fixtures import Settings

from core.files.buckets import file_store
from core.operations.scaling.providers.local import LocalProvider
from core.tests import factories
from tests.object_stores import StoreServer
from tests.season.driver import NotInjected, partial_file
from tests.season.findings import unnamed_files
from tests.season.hosts import host_dies, processes_of
from tests.season.kinds import OF_BUCKETS, deck
from tests.season.scaling import OF_SCALERS
from tests.season.services import until
from tests.season.stores import BucketStore
from tests.season.worker import half_sent


@pytest.fixture
def bucket(store_server: StoreServer, settings: Settings, tmp_path: Path) -> Iterator[BucketStore]:
    """A store of a season, which the arena uses as well."""
    made = BucketStore(store_server, tmp_path.name, tmp_path / "files")
    with made.served() as variables:
        settings.STORAGES = {**settings.STORAGES, "default": file_store(variables["STORAGE"])}
        yield made


def test_only_a_season_with_a_bucket_lets_the_object_store_go_away() -> None:
    both = [{name for name, _ in deck(200, 1, has_bucket=has_bucket)} for has_bucket in (False, True)]
    assert both[1] - both[0] == OF_BUCKETS.keys()
    assert both[0] <= both[1]


def test_only_a_season_with_a_scaler_kills_it() -> None:
    both = [{name for name, _ in deck(200, 1, has_scaler=has_scaler)} for has_scaler in (False, True)]
    assert both[1] - both[0] == OF_SCALERS.keys()
    assert both[0] <= both[1]


def test_a_host_dies_with_all_its_processes_and_no_other_does(tmp_path: Path) -> None:
    fork = "import os, time; os.fork(); print(flush=True); time.sleep(600)"
    hosts = LocalProvider(tmp_path / "hosts", [sys.executable, "-c", fork], 1)
    try:
        for name in ("one", "two"):
            hosts.create(name)
        until(lambda: [len(processes_of(name)) for name in ("one", "two")] == [2, 2], 30, "both have begun")
        host_dies("one")
        until(lambda: hosts.hosts() == ["two"], 30, "the first is dead")
        assert len(processes_of("two")) == 2
    finally:
        host_dies("two")
        hosts.close()


def test_a_file_is_half_written_if_a_folder_has_a_part_of_it_and_a_bucket_nothing() -> None:
    partial_file({"a": 5}, "a", 10, is_folder=True)
    partial_file({}, "a", 10, is_folder=False)
    for files, is_folder in (({"a": 10}, True), ({}, True), ({"a": 10}, False), ({"a": 5}, False)):
        with pytest.raises(NotInjected):
            partial_file(files, "a", 10, is_folder=is_folder)


@pytest.mark.object_store
def test_a_bucket_refuses_is_full_goes_away_and_comes_back(bucket: BucketStore) -> None:
    assert bucket.refusal() == 0
    assert bucket.files() == {}, "a test file is not left"
    default_storage.save("kept", ContentFile(b"kept"))
    bucket.read_only()
    assert bucket.refusal() == bucket.READ_ONLY == errno.EACCES
    assert default_storage.open("kept").read() == b"kept"
    bucket.writable()
    bucket.fill()
    assert bucket.refusal() == errno.ENOSPC
    bucket.empty()
    bucket.go_away()
    assert bucket.refusal() == errno.EIO
    bucket.writable()
    assert bucket.refusal() == 0
    (bucket._folder / "incoming").mkdir()
    (bucket._folder / "incoming/1.upload").write_bytes(b"left")
    assert bucket.files() == {"kept": 4, "local incoming/1.upload": 4}


@pytest.mark.object_store
@pytest.mark.django_db
def test_an_object_that_no_row_names_is_left_over(bucket: BucketStore) -> None:
    agent = factories.agent(factories.user("ann"), factories.environment("connect-four"), "ann")
    named = str(factories.submission(agent).archive)
    default_storage.save("duels/9/claim/records.zip", ContentFile(b"some"))
    assert named in bucket.files()
    assert unnamed_files(bucket.files()) == ["duels/9/claim/records.zip"]


@pytest.mark.object_store
def test_of_a_file_that_is_half_sent_nothing_is_in_the_bucket(bucket: BucketStore) -> None:
    data = bytes(1 << 16)
    with half_sent(default_storage, "records.zip", data) as connection:
        assert bucket.files() == {}
        connection.shutdown(socket.SHUT_WR)
        # The proxy has passed on what came, and hung up, when it ends the connection.
        assert connection.recv(1) == b""
    assert bucket.files() == {}
    # Only the end of it was missing.
    with half_sent(default_storage, "records.zip", data) as connection:
        connection.sendall(data[len(data) // 2 :])
        assert connection.recv(1 << 10).startswith(b"HTTP/1.1 200 ")
    assert bucket.files() == {"records.zip": len(data)}
