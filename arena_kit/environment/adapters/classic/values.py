"""Reads what the methods of a classic environment return: states, valid actions, rewards, and whether it is over.

People write these with whatever is at hand: lists, arrays, sets, ranges, NumPy's numbers. What can only mean one thing
is taken as that; everything else is refused with a sentence that names the method.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np

from arena_kit.environment.protocol import BrokenEnvironment
from arena_kit.environment.spec import WIRE_CODES

Array = np.ndarray[Any, Any]
RESET = "reset must return (state, valid_actions)"
STEP = "step must return (state, reward, done, valid_actions)"
MAX_VALUES = 1 << 20
"""The most values of a state."""


class Stepped(NamedTuple):
    """The result of `step`. state: None where the environment gives none."""

    state: Array | None
    reward: float
    is_over: bool
    valid: tuple[int, ...]


def read_reset(returned: object) -> tuple[Array | None, tuple[int, ...]]:
    """Return the state as an array, and the valid actions. Raises BrokenEnvironment."""
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise BrokenEnvironment(f"{RESET}, not {_shape(returned)}.")
    state, valid = returned
    return state_array(state), valid_actions(valid, RESET)


def read_step(returned: object) -> Stepped:
    """Return the parts of what `step` has returned. Raises BrokenEnvironment."""
    if not isinstance(returned, tuple | list) or len(returned) != 4:
        raise BrokenEnvironment(f"{STEP}, not {_shape(returned)}.")
    state, reward, done, valid = returned
    value, is_over = _reward(reward), _is_over(done)
    return Stepped(state_array(state), value, is_over, () if is_over else valid_actions(valid, STEP))


def state_array(state: object) -> Array | None:
    """Return a copy of a state as an array of numbers; None stays None.

    A mapping becomes its values in their order, a set its sorted members, a number an array of one; lists of different
    lengths become one row. Raises BrokenEnvironment for anything that does not hold numbers only.
    """
    if state is None:
        return None
    if isinstance(state, np.ndarray):
        array = np.array(state)
    else:
        try:
            array = np.array(_listed(state))
        except (TypeError, ValueError, OverflowError, RecursionError):
            # Lists of different lengths.
            array = np.array(list(_flat(state)))
    if array.dtype.kind == "O":
        array = np.array(list(_flat(array.tolist())))
    if array.dtype.kind not in "biuf":
        raise BrokenEnvironment(f"a state must hold numbers only, not {_shape(state)}.")
    if not 1 <= array.size <= MAX_VALUES:
        raise BrokenEnvironment(f"a state has {array.size} values; it must have 1 to {MAX_VALUES}.")
    return array.reshape(1) if array.ndim == 0 else array


def _listed(value: object) -> object:
    if isinstance(value, Mapping):
        return [_listed(item) for item in value.values()]
    if isinstance(value, AbstractSet):
        return sorted(value)
    return value


def _flat(value: object) -> Iterable[float]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, np.ndarray | list | tuple | AbstractSet):
        for item in sorted(value) if isinstance(value, AbstractSet) else value:
            yield from _flat(item)
    elif isinstance(value, int | float | np.number | np.bool_):
        yield float(value) if isinstance(value, np.floating) else value  # type: ignore[misc]  # or NumPy's
    else:
        raise BrokenEnvironment(f"a state must hold numbers only, not {_shape(value)}.")


def valid_actions(given: object, method: str) -> tuple[int, ...]:
    """Return valid actions in ascending order, each once; None means none, and truth values are a mask."""
    if given is None:
        return ()
    if isinstance(given, tuple) and len(given) == 1 and isinstance(given[0], np.ndarray):
        given = given[0]  # numpy.nonzero returns a tuple of one array
    if isinstance(given, np.ndarray):
        flat = given.ravel()
        given = np.flatnonzero(flat).tolist() if flat.dtype.kind == "b" else flat.tolist()
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise BrokenEnvironment(f"{method}: valid_actions must be a list of whole numbers, not {_shape(given)}.")
    actions = list(given)
    if actions and all(isinstance(action, bool | np.bool_) for action in actions):
        return tuple(index for index, is_valid in enumerate(actions) if is_valid)
    return tuple(sorted({_action(action, method) for action in actions}))


def _action(action: object, method: str) -> int:
    if type(action) is int:
        number = action
    elif isinstance(action, float | np.floating) and float(action).is_integer():
        number = int(action)
    else:
        try:
            number = operator.index(np.asarray(action).item())
        except (TypeError, ValueError):
            raise BrokenEnvironment(
                f"{method}: {_shape(action)} is not a whole number, so it is not an action."
            ) from None
    if not 0 <= number < 1 << 31:
        raise BrokenEnvironment(f"{method}: the action {number} is not between 0 and 2147483647.")
    return number


def _reward(given: object) -> float:
    if given is None:
        return 0.0
    if isinstance(given, np.ndarray) and given.size == 1:
        given = given.item()
    if isinstance(given, bool | np.bool_) or not isinstance(given, int | float | np.number):
        raise BrokenEnvironment(f"{STEP}: the reward must be a number, not {_shape(given)}.")
    reward = float(given)
    if not math.isfinite(reward):
        raise BrokenEnvironment(f"{STEP}: the reward must be finite, not {reward}.")
    return reward


def _is_over(given: object) -> bool:
    if isinstance(given, np.ndarray) and given.size == 1:
        given = given.item()
    if isinstance(given, bool | np.bool_) or (isinstance(given, int | np.integer) and int(given) in (0, 1)):
        return bool(given)
    raise BrokenEnvironment(f"{STEP}: done must be True or False, not {_shape(given)}.")


def wire_of(dtype: np.dtype[Any], *, is_array: bool) -> tuple[str, str]:
    """Return the type of states that players see, and the type on the wire, for the type that NumPy found.

    is_array: whether the environment itself gives arrays, whose type is kept.
    """
    if dtype.kind == "b":
        return "bool", "int8"
    if is_array and dtype.name in WIRE_CODES:
        return dtype.name, dtype.name
    return ("float64", "float64") if dtype.kind == "f" else ("int64", "int64")


def plain(value: object) -> Any:
    """Return a value as plain JSON values. Raises BrokenEnvironment."""
    if value is None or isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, AbstractSet):
        return sorted(plain(item) for item in value)
    if isinstance(value, list | tuple | range):
        return [plain(item) for item in value]
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise BrokenEnvironment(f"to_jsonable must return what JSON can hold, not {_shape(value)}.")


def _shape(value: object) -> str:
    """Return what a value is, in few words."""
    if isinstance(value, tuple | list):
        kinds = ", ".join(type(item).__name__ for item in value[:6])
        return f"{len(value)} values ({kinds})" if len(value) <= 6 else f"{len(value)} values"
    text = repr(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"
