"""Providers that create and remove hosts: a module each, with a class that has these three methods."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, Protocol

from core.errors import Refused

PROVIDERS = {
    "command": "CommandProvider",
    "digitalocean": "DigitalOceanProvider",
    "kubernetes": "KubernetesProvider",
    "local": "LocalProvider",
}
"""By their module in this folder: their class."""


class ProviderFailed(Exception):
    """A provider did not do what it was asked; the message is a sentence for operators."""


class Provider(Protocol):
    """Creates and removes hosts of workers, and knows which there are.

    youngest, oldest_minutes: see `core.operations.scaling.decision.Policy`. names_hosts: it names its hosts itself.
    """

    youngest_minutes: ClassVar[float]
    oldest_minutes: ClassVar[float]
    names_hosts: ClassVar[bool]

    def hosts(self) -> list[str]:
        """Return the names of all hosts of this arena that exist or are being created. Raises ProviderFailed."""

    def nameless(self) -> int:
        """Return how many hosts were asked for that have no name yet; 0 unless it names its hosts itself."""

    def create(self, name: str) -> None:
        """Begin to create a host. Raises ProviderFailed, also if it may have been created all the same."""

    def destroy(self, name: str) -> None:
        """Begin to remove a host; one that is gone already is no failure. Raises ProviderFailed."""

    def close(self) -> None:
        """Let go of what must not outlive this process."""


def provider_of(options: Mapping[str, Any]) -> Provider:
    """Return the provider of the settings. options: those of SCALING. Raises Refused with what is missing."""
    name = options["provider"]
    if name not in PROVIDERS:
        raise Refused(f"SCALING has no provider {name!r}. It has {', '.join(PROVIDERS)}.", code="no_provider")
    module = import_module(f"{__name__}.{name}")
    provider: Provider = getattr(module, PROVIDERS[name]).of(options)
    return provider


def needed(options: Mapping[str, Any], *names: str) -> None:
    """Raise Refused if the settings leave one of these empty."""
    for name in names:
        if not options[name]:
            raise Refused(f"SCALING with provider={options['provider']} needs {name}=...", code="incomplete")
