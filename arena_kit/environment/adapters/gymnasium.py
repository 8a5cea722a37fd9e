"""Adapts any environment that Gymnasium has registered to the arena's protocol, with one seat.

`python -m arena_kit.environment.adapters.describe Foo-v0 > data/environments/foo.yml` writes the file of one.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.wrappers import OrderEnforcing

from arena_kit.environment.adapters.ids import bare_name
from arena_kit.environment.adapters.spaces import UnusableSpace, action_decoder, observation_encoder
from arena_kit.environment.adapters.texts import explained, number
from arena_kit.environment.protocol import (
    Action,
    BrokenEnvironment,
    Frame,
    IllegalAction,
    MatchOver,
    MissingExtra,
    Observation,
)
from arena_kit.environment.spec import EnvironmentSpec, GymnasiumSource

SHOWN_VALUES = 64
"""A frame holds at most this many values of an observation, and of an action."""


class GymnasiumEnvironment:
    """Plays one episode after another of a registered environment; everything random in an episode is drawn from its
    seed.

    The limit of steps is the spec's. Real actions beyond a bound are moved onto it, as Gymnasium's ClipAction does.
    """

    def __init__(self, spec: EnvironmentSpec, render_mode: str | None = None) -> None:
        """render_mode: as for `gymnasium.make`.

        Raises MissingExtra, and BrokenEnvironment when Gymnasium's environment does not fit the spec.
        """
        assert spec.gymnasium is not None
        self._spec, self._source, self._render_mode = spec, spec.gymnasium, render_mode
        self._environment = open_environment(self._source, render_mode)
        try:
            self._encode = observation_encoder(self._environment.observation_space, spec.observation)
            self._decode = action_decoder(self._environment.action_space, spec.action_count, spec.action)
        except UnusableSpace as error:
            raise BrokenEnvironment(f"{spec.id} does not fit Gymnasium's {self._source.id}: {error}.") from None
        self._valid = range(spec.action_count)
        self._is_new = True
        # Plain attributes are faster than properties, and the referee reads them at every step.
        self.to_move: tuple[int, ...] = ()
        self.truncated = False

    def reset(self, seed: int) -> None:
        if self._source.new_each_episode and not self._is_new:
            self.close()
            self._environment = open_environment(self._source, self._render_mode)
        self._is_new = False
        observation, _ = self._environment.reset(seed=seed)
        self._step = self._environment.step
        self._steps, self._reward, self._return = 0, 0.0, 0.0
        self._action: Action | None = None
        self._seen = Observation(self._encode(observation), self._valid)
        self.to_move, self.truncated = (0,), False

    def observe(self, seat: int) -> Observation:
        return self._seen

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        if not self.to_move:
            raise MatchOver("The episode is over.")
        if 0 not in actions:
            raise IllegalAction("The action of seat 0 is missing.")
        action = actions[0]
        observation, reward, terminated, truncated, _ = self._step(self._decode(action))
        reward = float(reward)
        if not math.isfinite(reward):
            raise BrokenEnvironment(f"{self._spec.id} gave the reward {reward}.")
        self._action, self._reward = action, reward
        self._steps += 1
        self._return += reward
        if terminated or truncated or self._steps >= self._spec.max_steps:
            self.to_move, self.truncated = (), not terminated
            self._seen = Observation(self._encode(observation), ())
        else:
            self._seen = Observation(self._encode(observation), self._valid)
        return (reward,)

    def frame(self) -> Frame:
        """Return the state as JSON.

        Keys: step, action (its name, number or values; None at the start), reward, return, over, truncated,
        observation (the first SHOWN_VALUES values), size (the number of all values), names (of the values, where known)
        and text (a picture in characters, where Gymnasium has one).
        """
        values = np.frombuffer(_raw(self._seen), np.dtype(self._spec.observation.wire).newbyteorder("<"))
        frame = {
            "step": self._steps,
            "action": self._shown_action(),
            "reward": self._reward,
            "return": self._return,
            "over": not self.to_move,
            "truncated": self.truncated,
            "observation": _numbers(values),
            "size": len(values),
            "names": list(self._spec.observation_names),
        }
        if self._environment.render_mode == "ansi":
            frame["text"] = explained(bare_name(self._source.id), str(self._environment.render()), values.tolist())
        return frame

    def text(self) -> str:
        frame = self.frame()
        lines = [sentence(frame)]
        if "text" in frame:
            lines.append(frame["text"])
        else:
            names = frame["names"] or range(len(frame["observation"]))
            lines += [f"{name}: {number(value)}" for name, value in zip(names, frame["observation"], strict=False)]
            if frame["size"] > SHOWN_VALUES:
                lines.append(f"and {frame['size'] - SHOWN_VALUES} more values")
        return "\n".join(lines)

    def render(self) -> Any:
        """Return the picture of this state, in the form that `render_mode` asks for."""
        return self._environment.render()

    @property
    def frames_per_second(self) -> float:
        """The speed at which its pictures are meant to be shown."""
        return float(self._environment.metadata.get("render_fps") or 30)

    def close(self) -> None:
        """Close windows and drawing surfaces."""
        self._environment.close()

    def _shown_action(self) -> str | int | list[float | None] | None:
        action, spec = self._action, self._spec
        if isinstance(action, bytes) and spec.action is not None:
            return _numbers(np.frombuffer(action, np.dtype(spec.action.wire).newbyteorder("<")))
        if isinstance(action, int) and spec.action_names:
            return spec.action_names[action]
        return action  # type: ignore[return-value]  # bytes come with spec.action alone


def open_environment(source: GymnasiumSource, render_mode: str | None = None) -> Any:
    """Make an environment that Gymnasium has registered, without the wrappers that only check and count.

    render_mode: None for text pictures, where the environment has any; they cost nothing until they are drawn. Raises
    MissingExtra, and BrokenEnvironment when the id is not registered or the arguments are not accepted.
    """
    try:
        mode = render_mode or ("ansi" if "ansi" in render_modes(source.id) else None)
        arguments = dict(source.arguments)
        if mode:
            arguments["render_mode"] = mode
        if mode == "rgb_array":
            arguments |= source.picture_arguments
        with warnings.catch_warnings():
            # That Gymnasium has a newer version of an id is not news to the organisers who chose this one.
            warnings.simplefilter("ignore", DeprecationWarning)
            made = gymnasium.make(source.id, max_episode_steps=-1, disable_env_checker=True, **arguments)
    except (gymnasium.error.DependencyNotInstalled, ModuleNotFoundError) as error:
        raise _missing(source, error) from error
    except (gymnasium.error.Error, TypeError) as error:
        raise BrokenEnvironment(f"Gymnasium {gymnasium.__version__} cannot make {source.id}: {error}") from error
    while type(made) is OrderEnforcing:
        made = made.env
    return made


def registered(registered_id: str) -> Any:
    """Return Gymnasium's entry for an id, which may begin with the module that registers it: `module:Name-v0`."""
    module, _, name = registered_id.rpartition(":")
    if module:
        import_module(module)
    return gymnasium.spec(name)


@cache
def render_modes(registered_id: str) -> frozenset[str]:
    """Return the render modes of an environment. Raises Gymnasium's errors when it cannot be found."""
    entry_point = registered(registered_id).entry_point
    with warnings.catch_warnings():
        # Importing Box2D warns from within C and crashes where warnings are errors.
        warnings.simplefilter("ignore")
        creator = load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    if (mujoco := sys.modules.get("mujoco")) is not None:
        # MuJoCo's own handler would write MUJOCO_LOG.TXT into the working folder.
        mujoco.set_mju_user_warning(lambda _: None)
    metadata: object = getattr(creator, "metadata", None)
    return frozenset(metadata.get("render_modes", ())) if isinstance(metadata, Mapping) else frozenset()


def sentence(frame: Frame) -> str:
    """Return a sentence about the step that led to a frame, and whether the frame is the last."""
    if frame["action"] is None:
        return "Start."
    action = frame["action"]
    shown = ", ".join(number(value) for value in action) if isinstance(action, list) else str(action)
    end = (" Stopped by the limit." if frame["truncated"] else " The end.") if frame["over"] else ""
    return f"Step {frame['step']}: {shown}. Reward {number(frame['reward'])}, return {number(frame['return'])}.{end}"


def _missing(source: GymnasiumSource, error: Exception) -> MissingExtra:
    if source.extra:
        message = f"{source.id} needs packages that are not installed here (extra `{source.extra}`)."
        return MissingExtra(message, hint=f'Run `pip install "gymnasium[{source.extra}]"`.')
    # A module of this name may be the organiser's own, and a package of this name on PyPI a stranger's.
    name = getattr(error, "name", None)
    named = f"the module `{name}`, which is" if name else "packages that are"
    return MissingExtra(f"{source.id} needs {named} not installed here.", hint="Install what provides it.")


def _raw(seen: Observation) -> bytes:
    assert isinstance(seen.observation, bytes)
    return seen.observation


def _numbers(values: np.ndarray[Any, Any]) -> list[float | None]:
    """Return the first SHOWN_VALUES values for JSON, with None for values that are not finite."""
    return [value if math.isfinite(value) else None for value in values[:SHOWN_VALUES].tolist()]
