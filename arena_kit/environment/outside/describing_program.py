"""The process that describes one registered environment: `python -m ... WIRE PARENT ID [SLUG]`.

It writes one line of JSON: {"file", "because", "detail"}, or {"ids"} for an empty ID.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from arena_kit.environment.outside.limited import confine, wire_of

MOST_STEPS = 1000
"""The limit of steps where Gymnasium names none."""
PROBE_SECONDS = 8.0
DETAIL_CHARACTERS = 500


def describe_here(registered_id: str, slug: str) -> dict[str, str]:
    """Describe a registered environment in this process and begin an episode from the description."""
    # Late: the limits of this process come first.
    from arena_kit.environment.adapters.describe import describe, text_of
    from arena_kit.environment.adapters.gymnasium import registered
    from arena_kit.environment.adapters.spaces import UnusableSpace
    from arena_kit.environment.availability import trouble_of
    from arena_kit.environment.info import read_text
    from arena_kit.environment.outside.fitting import check_fit
    from arena_kit.environment.protocol import MissingExtra

    try:
        steps = None if registered(registered_id).max_episode_steps else MOST_STEPS
        text = text_of(
            describe(registered_id, {}, steps, probe_seconds=PROBE_SECONDS) | {"slug": slug, "name": registered_id}
        )
        spec = read_text(text, registered_id)
        check_fit(spec)
    except UnusableSpace as error:
        return _refusal(f"{registered_id} cannot be played on an arena. {error}", error)
    except (MissingExtra, ImportError) as error:
        return _refusal(f"{registered_id} needs a package that this arena does not have.", error)
    except Exception as error:
        return _refusal(f"Gymnasium cannot make {registered_id} on this arena.", error)
    if (trouble := trouble_of(spec)) is not None:
        return _refusal(f"Gymnasium cannot make {registered_id} on this arena.", trouble.because)
    return {"file": text, "because": "", "detail": ""}


def _refusal(because: str, detail: object) -> dict[str, str]:
    kind = f"{type(detail).__name__}: " if isinstance(detail, Exception) else ""
    return {"file": "", "because": because[:DETAIL_CHARACTERS], "detail": f"{kind}{detail}"[:DETAIL_CHARACTERS]}


def _ids_here() -> list[str]:
    try:
        import gymnasium
    except ImportError:
        return []
    return [str(name) for name in gymnasium.registry]


def main() -> None:
    """Describe the environment that the arguments name, or list those that are registered."""
    wire, parent, registered_id = wire_of(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    confine(parent, processor_seconds=60)
    said: dict[str, Any] = describe_here(registered_id, sys.argv[4]) if registered_id else {"ids": _ids_here()}
    wire.sendall(json.dumps(said).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":
    main()
