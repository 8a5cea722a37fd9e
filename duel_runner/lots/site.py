"""What the settings say about the cluster on which lots are played."""

from __future__ import annotations

import re

from django.conf import settings

from arena_kit.sandbox.kubernetes.manifest import Site

MOST_LETTERS = 63


def site() -> Site:
    """Return how lots run on the cluster of the settings. The system check arena.E015 has checked them."""
    pairs = [word.partition("=") for word in settings.KUBERNETES_NODES]
    nodes = {name: value for name, _, value in pairs}
    return Site(
        id=site_id(settings.PLAYER_IMAGE_PREFIX),
        namespace=settings.KUBERNETES_NAMESPACE,
        referee_image=settings.KUBERNETES_IMAGE,
        runtime_class=settings.KUBERNETES_RUNTIME_CLASS,
        priority_class=settings.KUBERNETES_PRIORITY_CLASS,
        pull_secret=settings.KUBERNETES_PULL_SECRET,
        queue=settings.KUBERNETES_QUEUE,
        node_selector=nodes,
        tolerations=[{"key": name, "operator": "Equal", "value": value} for name, value in nodes.items()],
    )


def site_id(prefix: str) -> str:
    """Return the value of a label that tells this arena's Jobs from those of others in the same namespace."""
    return re.sub(r"[^a-zA-Z0-9._-]", "-", prefix)[-MOST_LETTERS:].strip("-._")
