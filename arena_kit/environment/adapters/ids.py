"""The ids by which Gymnasium knows environments, and the slugs that are made of them. Gymnasium is not needed."""

from __future__ import annotations

import hashlib
import re

from arena_kit.environment.registry import KEPT_PREFIX

KEPT_CHARACTERS = 50
DIGITS = 6


def bare_name(registered_id: str) -> str:
    """Return a registered id without its module and version: `ALE/Pong` for `module:ALE/Pong-v5`."""
    return re.sub(r"-v\d+$", "", registered_id.rpartition(":")[2])


def slug(registered_id: str) -> str:
    """Return the slug of a registered id: `cart-pole` for `CartPole-v1`, `ale-pong` for `ALE/Pong-v5`."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+", bare_name(registered_id))
    return "-".join(words).lower()


def kept_slug(registered_id: str, *, is_taken: bool = False) -> str:
    """Return the slug of an environment whose file is in no folder: `gym-cart-pole-0` for `CartPole-v0`.

    is_taken: whether another id has that one already, so that this one ends with a hash of its own.
    """
    version = re.search(r"-v(\d+)$", registered_id)
    name = KEPT_PREFIX + "-".join(filter(None, [slug(registered_id), version[1] if version else ""]))
    name = name.rstrip("-")
    if not is_taken and len(name) <= KEPT_CHARACTERS and name.startswith(KEPT_PREFIX):
        return name
    digest = hashlib.sha256(registered_id.encode()).hexdigest()[:DIGITS]
    return f"{name[: KEPT_CHARACTERS - DIGITS - 1].rstrip('-')}-{digest}"
