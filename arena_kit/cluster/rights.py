"""The rights of the arena's accounts on a cluster. deploy/kubernetes/ gives them these rights and no others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Right:
    """One thing that an account may do. namespace: None for that of the players, "" for all."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    namespace: str | None = None

    def __str__(self) -> str:
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {resource}"


LOT_RIGHTS = (
    *(Right(verb, "jobs", "batch") for verb in ("create", "list", "delete")),
    Right("list", "pods"),
    Right("watch", "pods"),
    Right("get", "pods", subresource="log"),
    Right("list", "events"),
)
"""The calls that a driver of lots makes."""
WORLD_RIGHTS = (
    # Worlds need every right of the lot driver except `watch`.
    *(right for right in LOT_RIGHTS if right.verb != "watch"),
    # Clusters need the one or the other, by their version.
    Right("get", "pods", subresource="exec"),
    Right("create", "pods", subresource="exec"),
)
"""The rights of a worker that plays rollouts in pods. Lots have no `exec`: their results leave by the log."""
