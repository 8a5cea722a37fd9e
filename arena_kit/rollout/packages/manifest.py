"""Reads environment.yml of a package: what the application is, where it is entered, and what is exported of it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arena_kit.rollout.exports.requests import address_of
from arena_kit.rollout.packages.compose import Service
from arena_kit.rollout.packages.documents import document_read, size, words
from arena_kit.rollout.tasks.reading import Rules
from arena_kit.rollout.tasks.task import MOST_COST, WIDEST, RolloutLimits
from arena_kit.rollout.values.equality import shown
from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.strict_json import Flaw

FILE = "environment.yml"
HOOKS = ("seed", "check")
FORMATS = ("csv", "sqlite", "json", "file")
MOST_LOGINS, MOST_EXPORTS = 20, 20
_SLUG = re.compile(r"[a-z](?:[a-z0-9-]{0,48}[a-z0-9])?\Z")
_EXPORTED = re.compile(r"/(?!.*(?:^|/)\.\.(?:/|$))[\w./-]{1,200}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Login:
    """How the browser logs in. fields: texts by selector. done: a path that shows that it has worked."""

    name: str
    url: str
    fields: Mapping[str, str]
    submit: str = ""
    done: str = ""


@dataclass(frozen=True, slots=True)
class Export:
    """The files that are fetched from a service after a rollout. command: run before. files: a folder or a file in the
    service."""

    service: str
    format: str
    files: str
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hook:
    """A command in a service, run when the package is built."""

    service: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of an application. memory_bytes: of a whole world. seeds: whether other seeds give other data.

    front: whether a proxy of the arena keeps the network log. clock: the time that pages see, or None for the real one.
    """

    slug: str
    name: str
    description: str
    origins: tuple[str, ...]
    home: str
    memory_bytes: int
    logins: tuple[Login, ...] = ()
    limits: RolloutLimits = field(default_factory=RolloutLimits)
    exports: tuple[Export, ...] = ()
    hooks: Mapping[str, Hook] = field(default_factory=dict)
    volatile: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    seeds: bool = False
    front: bool = False
    clock: datetime.datetime | None = None

    @property
    def rules(self) -> Rules:
        """Return the rules for tasks of this application."""
        names = tuple(login.name for login in self.logins)
        return Rules(self.slug, self.limits, names, self.origins)


def manifest_read(text: str, services: Sequence[Service], most_memory_bytes: int, found: list[Flaw]) -> Manifest | None:
    """Return the manifest of a package with these services; what is wrong with it is added to the flaws."""
    fields = document_read(text, FILE, found)
    if fields is None:
        return None
    by_name, count = {service.name: service for service in services}, len(found)
    slug = fields.text("slug", most=50, is_needed=True)
    if slug and not _SLUG.match(slug):
        fields.flaw(
            "bad_value",
            "slug",
            "It must be a letter and letters, digits and dashes, in lower case, without a dash at its end.",
        )
    origins = _origins(fields, services)
    manifest = Manifest(
        slug=slug,
        name=fields.text("name", most=100, is_needed=True),
        description=fields.text("description", most=5_000),
        origins=origins,
        home=_home(fields, origins),
        memory_bytes=_memory(fields, services, most_memory_bytes),
        logins=_logins(fields),
        limits=_limits(fields),
        exports=_exports(fields, by_name),
        hooks=_hooks(fields, by_name),
        volatile=_volatile(fields),
        seeds=fields.flag("seeds", default=False),
        front=fields.flag("front", default=False),
        clock=_clock(fields),
    )
    fields.finish()
    return manifest if len(found) == count else None


def _origins(fields: Fields, services: Sequence[Service]) -> tuple[str, ...]:
    """Return the origins, each a service and one of its ports."""
    origins = []
    for written in fields.texts("origins", most=20, most_characters=200):
        address = address_of(written)
        host, _, port = address.origin.partition("://")[2].partition(":")
        ports = next((service.ports for service in services if service.name == host), None)
        if not address.origin.startswith("http://") or address.path != "/" or address.query:
            fields.flaw("bad_value", "origins", f"{shown(written)} is not an origin such as http://web:8000.")
        elif ports is None or int(port or 80) not in ports:
            fields.flaw("bad_value", "origins", f"{shown(written)} is not a service with that port in expose.")
        else:
            origins.append(address.origin)
    if not origins and "origins" not in fields:
        fields.flaw("missing_key", "", "The key origins is missing: the addresses that the browser may visit.")
    return tuple(dict.fromkeys(origins))


def _home(fields: Fields, origins: Sequence[str]) -> str:
    home = fields.text("home", default=f"{origins[0]}/" if origins else "", most=500)
    if origins and address_of(home).origin not in origins:
        fields.flaw("bad_value", "home", "It must be an address on one of the origins.")
    return home


def _memory(fields: Fields, services: Sequence[Service], most: int) -> int:
    """Return the memory of a world: what the services need together, or more if the package says so."""
    needed = sum(service.memory_bytes for service in services)
    memory = size(fields, "memory", default=min(needed, most), most=most)
    if needed > memory:
        sentence = f"The services need {needed >> 20}m together; this is {memory >> 20}m."
        fields.flaw("bad_value", "memory", f"{sentence} A world has at most {most >> 20}m here.")
    return memory


def _logins(fields: Fields) -> tuple[Login, ...]:
    value = fields.object("logins") or {}
    if len(value) > MOST_LOGINS:
        fields.flaw("bad_value", "logins", f"At most {MOST_LOGINS} logins are read.")
        return ()
    return tuple(_login(fields, name, each) for name, each in value.items())


def _login(fields: Fields, name: str, value: Any) -> Login:
    inner = Fields(value if isinstance(value, dict) else {}, f"{fields.path}.logins.{name}", fields.flaws)
    url, submit, done = inner.text("url", is_needed=True), inner.text("submit"), inner.text("done")
    written = inner.object("fields") or {}
    texts = {selector: str(text) for selector, text in written.items() if _is_text(text)}
    if not texts or len(texts) < len(written) or len(texts) > 10:
        inner.flaw("bad_value", "fields", "It must be texts by selector, such as `label=Password: secret`.")
    for key, path in (("url", url), ("done", done)):
        if path and (not path.startswith("/") or path.startswith("//")):
            inner.flaw("bad_value", key, "It must be a path such as /login.")
    inner.finish()
    return Login(name, url, texts, submit, done)


def _is_text(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _limits(fields: Fields) -> RolloutLimits:
    value = fields.object("limits")
    if value is None:
        return RolloutLimits()
    inner, usual = Fields(value, f"{fields.path}.limits", fields.flaws), RolloutLimits()
    found = RolloutLimits(
        steps=inner.whole("steps", default=usual.steps, least=1, most=WIDEST.steps),
        seconds=inner.whole("seconds", default=usual.seconds, least=10, most=WIDEST.seconds),
        agent_seconds=inner.whole("agent_seconds", default=usual.agent_seconds, least=1, most=WIDEST.agent_seconds),
        tokens=inner.whole("tokens", default=usual.tokens, least=1, most=WIDEST.tokens),
        cost_micros=round(inner.number("cost", default=0.0, least=0.0, most=MOST_COST) * 1e6) or None,
    )
    inner.finish()
    return found


def _exports(fields: Fields, services: Mapping[str, Service]) -> tuple[Export, ...]:
    exports = []
    for path, value in fields.objects("exports", most=MOST_EXPORTS):
        inner = Fields(value, path, fields.flaws)
        service, kind = inner.choice("service", tuple(services)), inner.choice("format", FORMATS, default="csv")
        files = inner.text("files", most=200, is_needed=True)
        if files and not _EXPORTED.match(files):
            inner.flaw("bad_value", "files", "It must be an absolute path in the service, without ..")
        if "service" not in inner:
            inner.flaw("missing_key", "", "The key service is missing.")
        exports.append(Export(service, kind, files, words(inner, "command") or ()))
        inner.finish()
    return tuple(exports)


def _hooks(fields: Fields, services: Mapping[str, Service]) -> Mapping[str, Hook]:
    value = fields.object("hooks")
    if value is None:
        return {}
    inner, hooks = Fields(value, f"{fields.path}.hooks", fields.flaws), {}
    for name in HOOKS:
        if (written := inner.object(name)) is not None:
            hook = Fields(written, f"{inner.path}.{name}", fields.flaws)
            service, command = hook.choice("service", tuple(services)), words(hook, "command")
            if not service or command is None:
                hook.flaw("bad_value", "", "A hook has a service and a command.")
            hook.finish()
            hooks[name] = Hook(service, command or ())
    inner.finish()
    return hooks


def _volatile(fields: Fields) -> Mapping[str, tuple[str, ...]]:
    """Return the columns by table, and `*` for a file, that differ between two equal worlds."""
    value = fields.object("volatile") or {}
    inner = Fields(value, f"{fields.path}.volatile", fields.flaws)
    return {name: inner.texts(name, most=200) for name in value}


def _clock(fields: Fields) -> datetime.datetime | None:
    text = fields.text("clock", most=40)
    if not text:
        return None
    try:
        found = datetime.datetime.fromisoformat(text)
        return found.replace(tzinfo=datetime.UTC) if found.tzinfo is None else found.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        fields.flaw("bad_value", "clock", "It must be a time in quotation marks, such as '2026-01-15T09:00Z'.")
        return None
