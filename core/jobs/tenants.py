"""The settings of the cluster on which lots and rollouts are played."""

from __future__ import annotations

import re
from dataclasses import replace

from django.conf import settings

from arena_kit.cluster.manifest import MOST_CHARACTERS, Tenant

WORLDS = "-worlds"


def lots_tenant() -> Tenant:
    """Return how lots run on the cluster of the settings. The system check arena.E015 has checked them."""
    pairs = [word.partition("=") for word in settings.KUBERNETES_NODES]
    options = settings.KUBERNETES_OPTIONS
    nodes = {name: value for name, _, value in pairs}
    return Tenant(
        id=tenant_id(settings.PLAYER_IMAGE_PREFIX),
        namespace=options["namespace"],
        referee_image=settings.KUBERNETES_IMAGE,
        runtime_class=options["runtime_class"],
        priority_class=options["priority_class"],
        pull_secret=options["pull_secret"],
        queue=options["queue"],
        host_users=options["host_users"],
        node_selector=nodes,
        tolerations=[{"key": name, "operator": "Equal", "value": value} for name, value in nodes.items()],
    )


def worlds_tenant() -> Tenant:
    """Return how worlds of rollouts run there.

    They have a namespace and a name of their own, so that drivers leave them alone.
    """
    lots = lots_tenant()
    name = f"{lots.id[: MOST_CHARACTERS - len(WORLDS)]}{WORLDS}"
    return replace(lots, id=name, namespace=settings.KUBERNETES_OPTIONS["worlds"])


def tenant_id(prefix: str) -> str:
    """Return the value of a label that tells this arena's Jobs from those of others in the same namespace."""
    return re.sub(r"[^a-zA-Z0-9._-]", "-", prefix)[-MOST_CHARACTERS:].strip("-._")
