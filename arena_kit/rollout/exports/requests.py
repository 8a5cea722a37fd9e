"""The requests of a browser to the services of a world, as it is read from a HAR file (HTTP Archive 1.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from arena_kit.errors import Refused
from arena_kit.rollout.values.strict_json import NotJson, is_flawless, parse_json, read_json

MOST_BYTES = 64 << 20
MOST_REQUESTS = 50_000
MOST_FIELDS = 500
"""Parameters of an address or fields of a form; an address with more counts as one without any."""
Parameters = Mapping[str, tuple[str, ...]]


class NetworkLogRefused(Refused):
    """A network log that cannot be read. The platform is at fault, never the agent."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address in its parts. origin: scheme, host and port; the default port is left out."""

    origin: str
    path: str
    query: Parameters = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """A request and how it was answered. status: 0 without an answer. form: fields, or the members of a JSON body."""

    method: str
    address: Address
    status: int
    form: Mapping[str, Any] = field(default_factory=dict)


def address_of(url: str) -> Address:
    """Return the parts of an address; one that cannot be read has none."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
        query = _grouped(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        return Address("", "")
    scheme = parts.scheme.lower()
    shows = "" if port in (None, {"http": 80, "https": 443}.get(scheme)) else f":{port}"
    return Address(f"{scheme}://{host}{shows}" if host else "", plain_path(parts.path), query)


def plain_path(path: str) -> str:
    """Return a path as it is compared: decoded, without slashes at its end."""
    return unquote(path).rstrip("/") or "/"


def path_fits(template: str, path: str) -> bool:
    """Return whether a path is that of a template, in which `{name}` stands for one part, e.g.
    `/orders/{id}/refund`."""
    wanted, parts = plain_path(template).split("/"), path.split("/")
    if len(wanted) != len(parts):
        return False
    return all(
        one == other or (other != "" and one[:1] + one[-1:] == "{}") for one, other in zip(wanted, parts, strict=True)
    )


def requests_in(har: bytes) -> tuple[Request, ...]:
    """Return the requests of a HAR file in their order. Raises NetworkLogRefused."""
    try:
        document = read_json(har, most_bytes=MOST_BYTES)
        entries = document["log"]["entries"]
        if not isinstance(entries, list) or len(entries) > MOST_REQUESTS:
            raise NetworkLogRefused(f"It has more than {MOST_REQUESTS:,} requests.", code="bad_network_log")
        return tuple(_request(entry["request"], entry["response"]) for entry in entries)
    except NotJson as error:
        raise NetworkLogRefused(f"The network log cannot be read: {error}", code="bad_network_log") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise NetworkLogRefused("The network log is not in the form of HAR 1.2.", code="bad_network_log") from None


def _request(asked: Mapping[str, Any], answered: Mapping[str, Any]) -> Request:
    status = max(0, int(answered["status"]))
    return Request(str(asked["method"]).upper(), address_of(str(asked["url"])), status, _form(asked.get("postData")))


def _form(body: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if not body:
        return {}
    kind, text = str(body.get("mimeType", "")).partition(";")[0].strip().lower(), str(body.get("text") or "")
    if kind == "application/json" or kind.endswith("+json"):
        try:
            value = parse_json(text)
        except NotJson:
            return {}
        return value if isinstance(value, dict) and is_flawless(value) else {}
    if body.get("params"):
        return _grouped(_pairs(body["params"]))
    try:
        return _grouped(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        return {}


def _pairs(parameters: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for each in parameters:
        yield str(each["name"]), str(each.get("value", ""))


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        found[name] = (*found.get(name, ()), value)
    return found
