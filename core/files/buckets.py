"""Where an object store is: the address of the variable STORAGE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

LOCAL = "local"
SCHEMES = {"s3": "https", "s3+http": "http"}
SUPABASE = "/storage/v1/s3/"
"""The path of Supabase's server, which is not the name of a bucket."""
FORM = (
    "STORAGE must be local, or s3://KEY:SECRET@HOST[:PORT]/BUCKET[/PREFIX], perhaps with ?region=REGION and, for a "
    "server whose address has a path such as Supabase's, &path=/storage/v1/s3; s3+http:// without TLS. In KEY and "
    "SECRET write %2F for / and %2B for +."
)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of an object store, or the part of it whose names begin with `prefix`, which is empty or ends with /."""

    endpoint: str
    name: str
    prefix: str
    region: str
    key: str
    secret: str = field(repr=False)


def bucket_of(address: str) -> Bucket:
    """Parse an address such as s3://key:secret@s3.example.org/arena/files?region=eu-central-1.

    Raises ImproperlyConfigured with a message that leaves out the address, since it contains a secret.
    """
    try:
        parts = urlsplit(address)
        port = parts.port
        query = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    except ValueError:
        raise ImproperlyConfigured(FORM) from None
    bucket, _, prefix = unquote(parts.path).strip("/").partition("/")
    given = parts.hostname and parts.username and parts.password and bucket
    place = query.get("path", "").strip("/")
    is_wrong = parts.fragment or set(query) - {"region", "path"} or ".." in f"{place}/{prefix}"
    if parts.scheme not in SCHEMES or not given or is_wrong or parts.path.startswith(SUPABASE):
        raise ImproperlyConfigured(FORM)
    host = parts.hostname if ":" not in (parts.hostname or "") else f"[{parts.hostname}]"
    return Bucket(
        endpoint=f"{SCHEMES[parts.scheme]}://{host}{f':{port}' if port else ''}{f'/{place}' if place else ''}",
        name=bucket,
        prefix=f"{prefix}/" if prefix else "",
        region=query.get("region", "us-east-1"),
        key=unquote(parts.username or ""),
        secret=unquote(parts.password or ""),
    )


def file_store(address: str) -> dict[str, Any]:
    """Return the entry of Django's STORAGES for the arena's files. Raises ImproperlyConfigured."""
    if address in ("", LOCAL):
        # For the arena's own user alone, whatever its umask. Not for all stores: the static files belong to root.
        options = {"file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
        return {"BACKEND": "core.files.storage.LocalStorage", "OPTIONS": options}
    return {"BACKEND": "core.files.object_storage.ObjectStorage", "OPTIONS": {"bucket": bucket_of(address)}}
