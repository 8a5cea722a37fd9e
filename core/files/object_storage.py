"""Files in an object store that speaks S3's protocol, with the errors of a local file system."""

from __future__ import annotations

import base64
import errno
import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, cast

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session
from django.core.files import File
from django.core.files.storage import Storage
from django.utils.deconstruct import deconstructible
from django.utils.encoding import filepath_to_uri

from core.files.buckets import Bucket

FULL = frozenset({"XMinioStorageFull", "QuotaExceeded", "InsufficientStorage", "InsufficientCapacity"})
"""Error codes of stores that have no more room; S3 itself has no such code."""
LEAST_BYTES, MOST_BYTES = 1 << 18, 1 << 23
"""Bytes asked for at once: the least after a jump, the most when a file is read from one end to the other."""
READS = 3
"""How often a range is asked for whose answer broke off; botocore itself repeats only what was not answered."""
CONFIG = Config(
    connect_timeout=5,
    read_timeout=30,
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=20,
    signature_version="s3v4",
    # What every store speaks: the bucket in the path, and no checksums in trailers. Content-MD5 guards each upload.
    s3={"addressing_style": "path"},
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
)


@deconstructible
class ObjectStorage(Storage):
    """A bucket of an object store. A file is there completely or not at all, and never changes.

    Every method raises FileNotFoundError, PermissionError or another OSError, as those of the local store do.
    """

    def __init__(self, *, bucket: Bucket) -> None:
        self._bucket = bucket
        self._clients: dict[int, Any] = {}

    @property
    def _client(self) -> Any:
        """The client of this process, for all of its threads; a fork must not share its parent's connections."""
        client = self._clients.get(os.getpid())
        if client is None:
            client = Session().create_client(
                "s3",
                region_name=self._bucket.region,
                endpoint_url=self._bucket.endpoint,
                aws_access_key_id=self._bucket.key,
                aws_secret_access_key=self._bucket.secret,
                config=CONFIG,
            )
            self._clients = {os.getpid(): client}
        return client

    def _at(self, name: str) -> dict[str, str]:
        return {"Bucket": self._bucket.name, "Key": f"{self._bucket.prefix}{name}"}

    def _head(self, name: str) -> dict[str, Any]:
        with _as_os_errors(name):
            return cast(dict[str, Any], self._client.head_object(**self._at(name)))

    def _open(self, name: str, mode: str = "rb") -> File[bytes]:
        if mode not in ("rb", "r"):
            raise OSError(errno.EROFS, "stored files are never changed", name)
        raw = _ObjectReader(self, name, int(self._head(name)["ContentLength"]))
        return File(cast(Any, io.BufferedReader(raw, 1 << 16)), name)

    def _save(self, name: str, content: File[bytes]) -> str:
        content.seek(0)
        digest, size = hashlib.md5(usedforsecurity=False), 0
        while data := content.read(1 << 20):
            digest.update(data)
            size += len(data)
        content.seek(0)
        checksum = base64.b64encode(digest.digest()).decode()
        with _as_os_errors(name):
            # One request: the store keeps the file when all of it has arrived as it was sent, or none of it.
            self._client.put_object(**self._at(name), Body=content, ContentLength=size, ContentMD5=checksum)
        return name

    def read_range(self, name: str, start: int, size: int) -> bytes:
        """Return exactly these bytes of a file."""
        wanted = f"bytes={start}-{start + size - 1}"
        for attempt in range(1, READS + 1):
            try:
                with _as_os_errors(name):
                    data = cast(bytes, self._client.get_object(**self._at(name), Range=wanted)["Body"].read())
                if len(data) != size:
                    raise OSError(errno.EIO, f"the object store sent {len(data)} bytes instead of {size}", name)
                return data
            except (FileNotFoundError, PermissionError):
                raise
            except OSError:
                if attempt == READS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def delete(self, name: str) -> None:
        with _as_os_errors(name):
            self._client.delete_object(**self._at(name))

    def exists(self, name: str) -> bool:
        try:
            self._head(name)
        except FileNotFoundError:
            return False
        return True

    def size(self, name: str) -> int:
        return int(self._head(name)["ContentLength"])

    def get_modified_time(self, name: str) -> datetime:
        return cast(datetime, self._head(name)["LastModified"])

    def url(self, name: str | None) -> str:
        """Return the name as a link that leads nowhere, as for local files: only the site's own pages give files."""
        return filepath_to_uri(name or "")

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        """Return folders and files; both empty for a folder that is not there."""
        folder = self._at(f"{path.strip('/')}/" if path.strip("/") else "")["Key"]
        folders: list[str] = []
        files: list[str] = []
        for page in self._pages(folder, Delimiter="/"):
            folders += [one["Prefix"][len(folder) :].rstrip("/") for one in page.get("CommonPrefixes", ())]
            files += [one["Key"][len(folder) :] for one in page.get("Contents", ()) if one["Key"] != folder]
        return folders, files

    def files_before(self, folder: str, moment: datetime) -> list[str]:
        """Return the names of files of a folder that were stored before a moment."""
        found = self._at(f"{folder}/")["Key"]
        return [
            one["Key"].removeprefix(self._bucket.prefix)
            for page in self._pages(found, Delimiter="/")
            for one in page.get("Contents", ())
            if one["LastModified"] < moment
        ]

    def _pages(self, prefix: str, **more: str) -> Iterator[dict[str, Any]]:
        with _as_os_errors(prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket.name, Prefix=prefix, **more
            )
            yield from pages


class _ObjectReader(io.RawIOBase):
    """A stored file as a seekable stream. It fetches ranges, which grow while it is read in one go."""

    def __init__(self, storage: ObjectStorage, name: str, size: int) -> None:
        self._storage, self._name, self._size = storage, name, size
        self._position = self._block_start = 0
        self._block = b""
        self._ask_bytes = LEAST_BYTES

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if begin + offset < 0:
            raise ValueError(f"negative seek position {begin + offset}")
        self._position = begin + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        if self._position >= self._size:
            return 0
        block_end = self._block_start + len(self._block)
        if not self._block_start <= self._position < block_end:
            self._ask_bytes = min(2 * self._ask_bytes, MOST_BYTES) if self._position == block_end else LEAST_BYTES
            count = min(self._ask_bytes, self._size - self._position)
            self._block = self._storage.read_range(self._name, self._position, count)
            self._block_start = self._position
        offset = self._position - self._block_start
        piece = self._block[offset : offset + len(buffer)]
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)


@contextmanager
def _as_os_errors(name: str) -> Iterator[None]:
    """Turn the client's errors into those of a file system, without the addresses that they quote."""
    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = str(error.response.get("Error", {}).get("Code", ""))
        if status == 507 or code in FULL:
            raise OSError(errno.ENOSPC, "the object store is full", name) from error
        if code == "NoSuchBucket":
            raise OSError(errno.EIO, "the object store does not have the bucket", name) from error
        if status == 404:
            raise FileNotFoundError(errno.ENOENT, "the object store does not have the file", name) from error
        if status in (401, 403):
            raise PermissionError(errno.EACCES, f"the object store refuses access ({code})", name) from error
        raise OSError(errno.EIO, f"the object store answers {status} ({code})", name) from error
    except BotoCoreError as error:
        raise OSError(errno.EIO, f"the object store cannot be used ({type(error).__name__})", name) from error
