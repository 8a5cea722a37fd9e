"""Bounds on what the file of an environment from outside may say, so that it fits the tables and the wire."""

from __future__ import annotations

import math

from arena_kit.environment.spec import EnvironmentSpec

MOST = {"version": (1 << 31) - 1, "max_steps": 1 << 20, "parallel_matches": 1024, "seats": 16}
MOST_PLAYED = 100_000
MOST_GPUS = 16
OBSERVATION_BYTES = 8 << 20
NAMES_CHARACTERS = 72
"""The most of the names that the address of the picture holds."""
CHARACTERS = {"slug": 50, "name": 100, "public_id": 100, "image": 60, "description": 100_000}


def check_fit(spec: EnvironmentSpec) -> None:
    """Check the size of everything in a valid spec. Raises ValueError with the key and a sentence."""
    faults = [
        (name, f"must have 1 to {most} characters.")
        for name, most in CHARACTERS.items()
        if not (name == "description" or getattr(spec, name).strip()) or len(getattr(spec, name)) > most
    ]
    faults += [(name, "must not hold a NUL.") for name in CHARACTERS if "\0" in getattr(spec, name)]
    faults += [(name, f"must be at most {most}.") for name, most in MOST.items() if getattr(spec, name) > most]
    faults += [
        (name, f"must be at most {MOST_PLAYED}.")
        for name in ("matches_per_duel", "matches_per_validation", "episodes_per_evaluation")
        if getattr(spec, name) > MOST_PLAYED
    ]
    if len(spec.slug) + len(spec.image) > NAMES_CHARACTERS:
        faults.append(("image", f"must be shorter: slug and image may have {NAMES_CHARACTERS} characters together."))
    if spec.action_count >= 1 << 31:
        faults.append(("action_count", "must be below 2147483648."))
    if max([*spec.observation.shape, 1]) > OBSERVATION_BYTES or spec.observation.byte_count > OBSERVATION_BYTES:
        faults.append(("observation.shape", f"must be at most {OBSERVATION_BYTES} bytes in all."))
    limits = spec.limits
    faults += [
        (f"limits.{name}", "must be above 0 and below a billion.")
        for name in ("cpu_count", "start_seconds", "duel_seconds", "validation_seconds")
        if not 0 < getattr(limits, name) < 1e9
    ]
    if not 0 < limits.memory_limit_bytes < 1 << 50:
        faults.append(("limits.memory_limit_bytes", "must be above 0 and below a pebibyte."))
    if not 0 <= limits.gpu_count <= MOST_GPUS:
        faults.append(("limits.gpu_count", f"must be from 0 to {MOST_GPUS}."))
    if not math.isfinite(spec.forfeit_score) or spec.forfeit_score > 1e12:
        faults.append(("forfeit_score", "must be at most 1e12."))
    if faults:
        raise ValueError(": ".join(faults[0]))
