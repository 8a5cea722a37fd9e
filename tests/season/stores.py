"""The artifact store of a season, which it may break: a small file system, or a part of a bucket behind a proxy."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from tests.object_proxy import FaultyProxy, faulty_proxy
from tests.object_stores import BUCKET, StoreServer, address
from tests.season.services import CannotRun


class Store(Protocol):
    """What a season asks of its store. READ_ONLY: number of the error that a writer meets while it is read-only."""

    READ_ONLY: int

    @contextlib.contextmanager
    def served(self) -> Iterator[Mapping[str, str]]:
        """Serve it to a season; yield the variables that tell the arena where it is."""
        ...

    def end(self) -> None: ...

    def read_only(self) -> bool:
        """Refuse writing; False while a file is being written."""
        ...

    def writable(self) -> None: ...

    def fill(self) -> None:
        """Leave no room."""
        ...

    def empty(self) -> None: ...

    def refusal(self) -> int:
        """Number of the error that a writer meets now, 0 for none."""
        ...

    def files(self) -> dict[str, int]:
        """Sizes of all files by name."""
        ...


class FolderStore:
    """A small file system for artifacts."""

    READ_ONLY = errno.EROFS

    def __init__(self, folder: Path, size_bytes: int) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._filler = folder / ".filler"
        command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes},mode=755", "arena-store", str(folder)]
        if subprocess.run(command, check=False).returncode:
            raise CannotRun("Nothing can be mounted here: run this as root.")

    @contextlib.contextmanager
    def served(self) -> Iterator[Mapping[str, str]]:
        """Yield no variables: this is where the arena looks anyway."""
        yield {}

    def end(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=False)

    def read_only(self) -> bool:
        command = ["mount", "-o", "remount,ro", str(self.folder)]
        return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0

    def writable(self) -> None:
        subprocess.run(["mount", "-o", "remount,rw", str(self.folder)], check=True)

    def fill(self) -> None:
        with self._filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        # The last pages, which the large pieces have left.
        with self._filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 10))

    def empty(self) -> None:
        self._filler.unlink(missing_ok=True)

    def refusal(self) -> int:
        probe = self.folder / f".probe-{os.getpid()}"
        try:
            probe.write_bytes(bytes(1 << 14))
        except OSError as error:
            return error.errno or 0
        finally:
            with contextlib.suppress(OSError):
                probe.unlink(missing_ok=True)
        return 0

    def files(self) -> dict[str, int]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.stat().st_size for path in found}


class BucketStore:
    """The objects below a prefix of a real S3 server, behind a proxy that refuses, breaks off and is full.

    folder: where the arena keeps uploads that are not stored yet; nothing of it may be left either.
    """

    READ_ONLY = errno.EACCES

    def __init__(self, server: StoreServer, prefix: str, folder: Path) -> None:
        self._server, self._prefix, self._folder = server, f"{prefix}/", folder
        folder.mkdir(parents=True, exist_ok=True)
        self._proxy: FaultyProxy | None = None

    @contextlib.contextmanager
    def served(self) -> Iterator[Mapping[str, str]]:
        """Run the proxy in this process."""
        with faulty_proxy(self._server.port) as self._proxy:
            yield {"STORAGE": f"{address(self._proxy.server_port)}/{self._prefix}"}

    def end(self) -> None:
        """Leave the server to those who have started it."""

    def read_only(self) -> bool:
        self._set("read-only")
        return True

    def writable(self) -> None:
        self._set("")

    def fill(self) -> None:
        self._set("full")

    def empty(self) -> None:
        self._set("")

    def go_away(self) -> None:
        """End every connection without an answer."""
        self._set("cut off")

    def refusal(self) -> int:
        """As the arena's own storage meets it."""
        from django.core.files.base import ContentFile
        from django.core.files.storage import default_storage

        try:
            name = default_storage.save(f"probes/season-{os.getpid()}", ContentFile(bytes(1 << 14)))
        except OSError as error:
            return error.errno or 0
        default_storage.delete(name)
        return 0

    def files(self) -> dict[str, int]:
        """All objects, asked of the server itself, unfinished ones too, and what lies in the local folder."""
        client = self._server.client()
        here = {"Bucket": BUCKET, "Prefix": self._prefix}
        found: dict[str, int] = {}
        for page in client.get_paginator("list_objects_v2").paginate(**here):
            found |= {one["Key"].removeprefix(self._prefix): one["Size"] for one in page.get("Contents", ())}
        unfinished: list[dict[str, Any]] = client.list_multipart_uploads(**here).get("Uploads", [])
        found |= {f"unfinished {one['Key']}": 0 for one in unfinished}
        local = (path for path in self._folder.rglob("*") if path.is_file())
        return found | {f"local {path.relative_to(self._folder)}": path.stat().st_size for path in local}

    def _set(self, fault: str) -> None:
        assert self._proxy is not None, "The store is broken only while a season is played."
        self._proxy.set(fault, times=1 << 60)
