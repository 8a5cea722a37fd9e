"""The names by which a player is found and what counts as its action: one rule for the arena, for uploads and at home.

Servers of players import it too, on every Python from 3.8 on.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

METHODS = ("act", "get_action", "predict")
"""The methods of an agent, or functions of its file, that may choose a move; the first one that there is does."""
OBSERVATION_NAMES = ("obs", "observation", "obs_dict")
"""Names of the first argument of a function that plays as on Kaggle, whatever its own name."""
FORMS = ("Player", "create_agent", "Agent", *METHODS, "agent")
"""Names that a file may define for its player."""
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_WHOLE: set[type] = {int}
"""Types whose values are integers, e.g. those of NumPy: found once, so that a move costs no longer look."""


class BadAction(Exception):
    """The player returned something that is not an action."""


def action_of(value: Any) -> int:
    """Return an action as a plain integer. Raises BadAction.

    It may be an integer of any library, or an array, tensor, list or tuple that holds one; booleans and floats are no
    actions, because they are usually slips.
    """
    if type(value) in _WHOLE:
        action = int(value)
    else:
        action = _only(value)
        if isinstance(action, bool) or not isinstance(action, int):
            name = type(action).__name__
            what = f"{name}: return int(action)" if isinstance(action, float) else name
            raise BadAction(f"The action must be an integer, not {what}.")
        if isinstance(value, Integral):
            _WHOLE.add(type(value))
        action = int(action)
    if _LEAST <= action <= _MOST:
        return action
    raise BadAction("The action is not a 64-bit integer.")


def _only(value: Any) -> Any:
    """Return the one value of an array, tensor, list or tuple; other values stay as they are."""
    if isinstance(value, (list, tuple)):
        if len(value) != 1:
            raise BadAction(f"The action must be one integer, not {len(value)} values.")
        return _only(value[0]) if not isinstance(value[0], (list, tuple)) else value[0]
    item = getattr(value, "item", None)
    if not callable(item):
        return value
    try:
        return item()
    except Exception:
        shape = tuple(getattr(value, "shape", ()))
        raise BadAction(f"The action must be one integer, not an array of shape {shape}.") from None
