"""Writes the file of an environment that Gymnasium has registered, from its spaces and its documentation."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import yaml

from arena_kit.environment.adapters.gymnasium import open_environment, registered
from arena_kit.environment.adapters.ids import bare_name, slug
from arena_kit.environment.adapters.spaces import UnusableSpace, action_array, observation_array
from arena_kit.environment.protocol import ArenaEnvironmentError, BrokenEnvironment, MissingExtra
from arena_kit.environment.spec import ActionArraySpec, ArraySpec, GymnasiumSource

EXTRAS = ("box2d", "mujoco")
"""The extras of Gymnasium that are extras of the arena, too."""
HEAVY_EXTRAS = ("mujoco",)
"""The extras whose environments simulate so much in a step that their jobs get a line of their own."""
PROBED_EPISODES, PROBED_STEPS = 8, 300
"""Episodes, and steps of each, that random play takes to find out whether a reset leaves something behind."""


def describe(
    registered_id: str, arguments: dict[str, Any], max_steps: int | None = None, *, probe_seconds: float = math.inf
) -> dict[str, Any]:
    """Return the keys and values of the file of a registered environment.

    arguments: for `gymnasium.make`. max_steps: the limit of steps, needed where Gymnasium names none.
    probe_seconds: processor time for finding out whether a reset leaves something behind; what it does not suffice for
    gets a new environment for every episode. Raises MissingExtra, UnusableSpace and BrokenEnvironment.
    """
    environment = open_environment(GymnasiumSource(registered_id, arguments))
    entry = registered(registered_id)
    steps = max_steps or entry.max_episode_steps
    if steps is None:
        raise BrokenEnvironment(f"Gymnasium has no step limit for {registered_id}. Give one with --max-steps.")
    observation = observation_array(environment.observation_space)
    action_count, action = action_array(environment.action_space)
    source: dict[str, Any] = {"id": registered_id}
    if arguments:
        source["arguments"] = arguments
    if extra := next((one for one in EXTRAS if str(entry.entry_point).startswith(f"gymnasium.envs.{one}")), ""):
        source["extra"] = extra
    if hasattr(environment.unwrapped, "mujoco_renderer"):
        # MuJoCo's default camera stands still while the robot runs out of the picture.
        source["picture_arguments"] = {"camera_name": "track"}
    if _leaves_something(source["id"], arguments, probe_seconds):
        source["new_each_episode"] = True
    name = bare_name(registered_id)
    data: dict[str, Any] = {
        "slug": slug(registered_id),
        "name": re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name.rpartition("/")[2]),
        "gymnasium": source,
        "observation": {"shape": list(observation.shape), "dtype": observation.dtype, "wire": observation.wire},
    }
    if extra in HEAVY_EXTRAS:
        data["heavy"] = True
    if action is None:
        data["action_count"] = action_count
        actions = f"`0` to `{action_count - 1}`"
    else:
        data["action"] = _action(action)
        actions = f"{' × '.join(map(str, action.shape))} values of {action.dtype}"
    data["max_steps"] = steps
    if entry.reward_threshold is not None:
        data["solved_score"] = entry.reward_threshold
    if entry.nondeterministic:
        data["deterministic"] = False
    data["description"] = _description(registered_id, environment, observation, actions)
    environment.close()
    return data


def text_of(data: dict[str, Any]) -> str:
    """Return the keys and values of a file as YAML."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write YAML to standard output, or a sentence to standard error and exit with code 1."""
    parser = argparse.ArgumentParser(
        prog="python -m arena_kit.environment.adapters.describe",
        description="Write the file of an environment that Gymnasium has registered. "
        "Put it into data/environments/ and run `python manage.py sync_environments`.",
    )
    parser.add_argument("id", help="registered name, e.g. CartPole-v1; module:Name-v0 for one of another package")
    parser.add_argument("--arguments", type=json.loads, default={}, help="for gymnasium.make, as a JSON object")
    parser.add_argument("--max-steps", type=int, help="limit of steps, if not Gymnasium's own")
    options = parser.parse_args(arguments)
    try:
        data = describe(options.id, options.arguments, options.max_steps)
    except UnusableSpace as error:
        sys.exit(f"{options.id} cannot be played here. {error}")
    except MissingExtra as error:
        sys.exit(f"{error} {error.hint}")
    except ArenaEnvironmentError as error:
        sys.exit(str(error))
    sys.stdout.write(text_of(data))


class _Dumper(yaml.SafeDumper):
    """Writes lists in one line and texts of several lines as blocks."""


_Dumper.add_representer(list, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, True))
_Dumper.add_representer(
    str,
    lambda dumper, data: dumper.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None),
)


def _action(action: ActionArraySpec) -> dict[str, Any]:
    data: dict[str, Any] = {"shape": list(action.shape), "dtype": action.dtype, "wire": action.wire}
    for name in ("low", "high"):
        if bounds := getattr(action, name):
            data[name] = list(bounds)
    return data


def _description(registered_id: str, environment: Any, observation: ArraySpec, actions: str) -> str:
    """Return the first sentence of the environment's own documentation and the table that all descriptions have."""
    document = re.sub(r"^\s*#.*$", "", type(environment.unwrapped).__doc__ or "", flags=re.MULTILINE)
    first = re.match(r".*?[.!](?=\s|$)", " ".join(document.split()))
    return (
        f"{first[0] if first else registered_id + ' of Gymnasium.'}\n\n"
        "| what | values |\n|---|---|\n"
        f"| state | {' × '.join(map(str, observation.shape))} values of {observation.dtype} |\n"
        f"| actions | {actions} |\n"
        f"| reward | as Gymnasium's {registered_id} gives it |\n"
    )


def _leaves_something(registered_id: str, arguments: dict[str, Any], seconds: float) -> bool:
    """Return whether an episode in a used environment differs, or may differ, from the same episode in a new one."""
    source = GymnasiumSource(registered_id, arguments)
    used = open_environment(source)
    until = time.process_time() + seconds
    for seed in range(PROBED_EPISODES):
        new = open_environment(source)
        if _played(used, seed) != _played(new, seed) or time.process_time() > until:
            return True
        new.close()
    used.close()
    return False


def _played(environment: Any, seed: int) -> list[tuple[object, ...]]:
    environment.action_space.seed(seed)
    seen = [_plain(environment.reset(seed=seed)[0])]
    for _ in range(PROBED_STEPS):
        observation, reward, terminated, truncated, _ = environment.step(environment.action_space.sample())
        seen.append((_plain(observation), float(reward)))
        if terminated or truncated:
            break
    return seen


def _plain(observation: Any) -> tuple[object, ...]:
    """Return an observation as something that can be compared: arrays as their bytes, which is quicker than as text."""
    if isinstance(observation, dict):
        return tuple((key, _plain(value)) for key, value in observation.items())
    if isinstance(observation, (tuple, list)):
        return tuple(map(_plain, observation))
    array = np.asarray(observation)
    return (array.dtype.str, array.shape, array.tobytes())


if __name__ == "__main__":
    main()
