"""Reads compose.yml of a package: its services, in an order in which they can start."""

from __future__ import annotations

import re
from collections.abc import Mapping

from arena_kit.rollout.packages.compose import FILE, Caps, Service, refuse_keys, service_read
from arena_kit.rollout.packages.documents import document_read
from arena_kit.rollout.values.equality import shown
from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.strict_json import Flaw

MOST_SERVICES = 8
_SERVICE = re.compile(r"[a-z](?:[a-z0-9-]{0,29}[a-z0-9])?\Z")


def compose_read(text: str, caps: Caps, found: list[Flaw]) -> tuple[Service, ...]:
    """Return the services in an order in which they can start; what is wrong with the file is added to the flaws."""
    fields = document_read(text, FILE, found)
    if fields is None:
        return ()
    for name in ("version", "name"):
        fields.take(name)  # Older files have a version; neither says anything here.
    written = fields.object("services")
    refuse_keys(fields)
    fields.finish()
    if not written or len(written) > MOST_SERVICES:
        fields.flaw("bad_services", "services", f"A package has 1 to {MOST_SERVICES} services.")
        return ()
    services = {}
    for name, value in written.items():
        path = f"{FILE}.services.{name}"
        if not _SERVICE.match(name):
            found.append(
                Flaw(
                    "bad_name",
                    path,
                    "A name has up to 31 letters in lower case, digits and dashes: a letter first, and no dash last.",
                )
            )
        elif not isinstance(value, dict):
            found.append(Flaw("bad_value", path, "A service has keys with values, such as `image: base:python`."))
        else:
            services[name] = service_read(name, Fields(value, path, found), caps)
    _check_ports(services, found)
    return _in_order(services, found)


def _check_ports(services: Mapping[str, Service], found: list[Flaw]) -> None:
    """Refuse a port of two services, which share one network."""
    owners: dict[int, str] = {}
    for service in services.values():
        for port in service.ports:
            owner = owners.setdefault(port, service.name)
            if owner != service.name:
                sentence = f"{owner} has the port {port}, too; services share one network, so their ports must differ."
                found.append(Flaw("same_port", f"{FILE}.services.{service.name}.expose", sentence))


def _in_order(services: Mapping[str, Service], found: list[Flaw]) -> tuple[Service, ...]:
    """Return the services so that each stands after those that it waits for."""
    for service in services.values():
        if lost := [each for each in service.after if each not in services]:
            path = f"{FILE}.services.{service.name}.depends_on"
            found.append(Flaw("unknown_service", path, f"There is no service {shown(lost[0])}."))
    ordered: dict[str, Service] = {}
    while ready := [
        each for each in services.values() if each.name not in ordered and ordered.keys() >= _known(each, services)
    ]:
        ordered.update({each.name: each for each in ready})
    if len(ordered) < len(services):
        waiting = ", ".join(name for name in services if name not in ordered)
        found.append(Flaw("circle", f"{FILE}.services", f"These services wait for each other: {waiting}."))
    return tuple(ordered.values())


def _known(service: Service, services: Mapping[str, Service]) -> set[str]:
    return {each for each in service.after if each in services}
