"""Translates Gymnasium's spaces into the arena's array specs, and their values to and from the wire."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from arena_kit.environment.protocol import Action, ArenaEnvironmentError, IllegalAction
from arena_kit.environment.spec import WIRE_CODES, WIRE_RANGES, ActionArraySpec, ArraySpec

_WHOLE = (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
_WHOLE_TYPES = ("int8", "uint8", "int16", "int32", "int64")


class UnusableSpace(ArenaEnvironmentError):
    """The arena cannot use a space; the message has the reason."""


def observation_array(space: Any) -> ArraySpec:
    """Return the array that a player receives for an observation space, in the smallest type that loses nothing.

    Discrete gives one whole number. Tuple and Dict give one flat row: their whole numbers if they hold nothing else (as
    in Blackjack, which has three), otherwise the result of `gymnasium.spaces.flatten`. Raises UnusableSpace.
    """
    if isinstance(space, spaces.Box):
        shape = space.shape or (1,)
        if space.dtype.kind == "f":
            return ArraySpec(shape, str(space.dtype), "float64" if space.dtype == np.float64 else "float32")
        return ArraySpec(shape, str(space.dtype), _whole_wire(space, int(space.low.min()), int(space.high.max())))
    if _is_whole(space):
        bounds = list(_whole_bounds(space))
        shape = space.shape if isinstance(space, _WHOLE[1:]) else (len(bounds),)
        return ArraySpec(shape, "int64", _whole_wire(space, min(bounds)[0], max(high for _, high in bounds)))
    if isinstance(space, (spaces.Tuple, spaces.Dict)) and space.is_np_flattenable:
        return observation_array(spaces.flatten_space(space))
    raise UnusableSpace(f"Observations of the space {space} have no fixed number of values.")


def observation_encoder(space: Any, array: ArraySpec) -> Callable[[Any], bytes]:
    """Return a function that turns an observation into raw little-endian bytes of the spec's wire type.

    Raises UnusableSpace when the space does not fit `array`.
    """
    own = observation_array(space)
    # Real numbers may lose precision on the wire; whole numbers may not.
    casting: Literal["same_kind", "safe"] = "same_kind" if own.wire.startswith("float") else "safe"
    if own.shape != array.shape or not np.can_cast(own.wire, array.wire, casting):
        raise UnusableSpace(
            f"observations have the shape {list(own.shape)} and fit {own.wire}, "
            f"not the shape {list(array.shape)} and {array.wire}"
        )
    if _is_whole(space):
        pack = Struct(f"<{math.prod(own.shape)}{WIRE_CODES[array.wire]}").pack
        if isinstance(space, spaces.Discrete):
            return pack
        if isinstance(space, spaces.Tuple) and all(isinstance(part, spaces.Discrete) for part in space):
            return lambda value: pack(*value)
        return lambda value: pack(*_whole_values(space, value))
    wire = np.dtype(array.wire).newbyteorder("<")
    if isinstance(space, spaces.Box):
        return lambda value: np.asarray(value, wire).tobytes()
    return lambda value: np.asarray(spaces.flatten(space, value), wire).tobytes()


def action_array(space: Any) -> tuple[int, ActionArraySpec | None]:
    """Return the number of actions and None, or 0 and the array that an action is. Raises UnusableSpace."""
    if isinstance(space, spaces.Discrete):
        return int(space.n), None
    if isinstance(space, (spaces.MultiDiscrete, spaces.MultiBinary)):
        bounds = list(_whole_bounds(space))
        wire = _whole_wire(space, min(bounds)[0], max(high for _, high in bounds))
        low, high = (_one_if_equal([float(pair[side]) for pair in bounds]) for side in (0, 1))
        return 0, ActionArraySpec(space.shape, "int64", wire, low, high)
    if isinstance(space, spaces.Box):
        array = observation_array(space)
        # The shortest decimals that give these values: 0.4 for a float32 that is 0.4000000059604645 as a double.
        low, high = (_one_if_equal([float(str(value)) for value in bound.ravel()]) for bound in (space.low, space.high))
        return 0, ActionArraySpec(array.shape, array.dtype, array.wire, low, high)
    raise UnusableSpace(f"Actions of the space {space} are neither numbers nor an array.")


def action_decoder(space: Any, action_count: int, array: ActionArraySpec | None) -> Callable[[Action], Any]:
    """Return a function that turns an action into what the environment takes, or raises IllegalAction.

    Raises UnusableSpace when the spec's actions do not fit the space.
    """
    own_count, own = action_array(space)
    if own_count != action_count or (own is None) != (array is None):
        raise UnusableSpace(f"actions are {_named(own_count, own)}, not {_named(action_count, array)}")
    if own is None or array is None:
        return _integer_decoder(action_count, int(space.start))
    if own.shape != array.shape or (np.dtype(own.wire).kind == "f") != (np.dtype(array.wire).kind == "f"):
        raise UnusableSpace(f"actions are {_named(0, own)}, not {_named(0, array)}")
    return _array_decoder(array, np.dtype(space.dtype), tuple(space.shape))


def _integer_decoder(count: int, start: int) -> Callable[[Action], Any]:
    def decode(action: Action) -> int:
        if type(action) is not int or not 0 <= action < count:
            raise IllegalAction(f"{_short(action)} is not an action. The actions are 0 to {count - 1}.")
        return action + start

    return decode


def _array_decoder(array: ActionArraySpec, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Callable[[Action], Any]:
    wire = np.dtype(array.wire).newbyteorder("<")
    size = array.byte_count
    low, high = (np.array(bound, np.float64) if bound else None for bound in (array.low, array.high))

    def values(action: Action) -> np.ndarray[Any, Any]:
        if type(action) is not bytes or len(action) != size:
            raise IllegalAction(f"{_short(action)} is not an array of {size} bytes.")
        return np.frombuffer(action, wire)

    def decode_whole(action: Action) -> Any:
        given = values(action)
        if (low is not None and (given < low).any()) or (high is not None and (given > high).any()):
            raise IllegalAction(f"The action {given.tolist()} is out of bounds.")
        return given.astype(dtype).reshape(shape)

    least, most = (None if bound is None else bound.astype(wire) for bound in (low, high))

    def decode_real(action: Action) -> Any:
        given = values(action)
        if not np.isfinite(given).all():
            raise IllegalAction(f"The action {given.tolist()} holds a value that is not finite.")
        given = given.copy() if least is None else np.maximum(given, least)
        if most is not None:
            np.minimum(given, most, out=given)
        return given.astype(dtype, copy=False).reshape(shape)

    return decode_real if wire.kind == "f" else decode_whole


def _is_whole(space: Any) -> bool:
    """Return whether a space holds only whole numbers, and a fixed count of them."""
    if isinstance(space, spaces.Tuple):
        return all(_is_whole(part) for part in space.spaces)
    if isinstance(space, spaces.Dict):
        return all(_is_whole(part) for part in space.spaces.values())
    return isinstance(space, _WHOLE)


def _whole_bounds(space: Any) -> Iterator[tuple[int, int]]:
    """Yield the least and the greatest value of each number, in the order of `_whole_values`."""
    if isinstance(space, spaces.Tuple):
        for part in space.spaces:
            yield from _whole_bounds(part)
    elif isinstance(space, spaces.Dict):
        for part in space.spaces.values():
            yield from _whole_bounds(part)
    elif isinstance(space, spaces.Discrete):
        yield int(space.start), int(space.start + space.n - 1)
    elif isinstance(space, spaces.MultiDiscrete):
        starts, counts = np.ravel(space.start).tolist(), np.ravel(space.nvec).tolist()
        yield from ((start, start + count - 1) for start, count in zip(starts, counts, strict=True))
    else:
        yield from [(0, 1)] * math.prod(space.shape)


def _whole_values(space: Any, value: Any) -> Iterator[int]:
    if isinstance(space, spaces.Tuple):
        for part, item in zip(space.spaces, value, strict=True):
            yield from _whole_values(part, item)
    elif isinstance(space, spaces.Dict):
        for name, part in space.spaces.items():
            yield from _whole_values(part, value[name])
    else:
        yield from np.ravel(value).tolist()


def _whole_wire(space: Any, low: int, high: int) -> str:
    for wire in _WHOLE_TYPES:
        if WIRE_RANGES[wire][0] <= low and high <= WIRE_RANGES[wire][1]:
            return wire
    raise UnusableSpace(f"Values of the space {space} do not fit 64 bits with a sign.")


def _one_if_equal(values: list[float]) -> tuple[float, ...]:
    """Return one bound for all values where they share it, and () where all values are unbounded."""
    if all(math.isinf(value) for value in values):
        return ()
    return (values[0],) if len(set(values)) == 1 else tuple(values)


def _named(count: int, array: ActionArraySpec | None) -> str:
    return f"0 to {count - 1}" if array is None else f"arrays of {array.wire} of the shape {list(array.shape)}"


def _short(action: object) -> str:
    return f"An array of {len(action)} bytes" if isinstance(action, bytes) else repr(action)[:60]
