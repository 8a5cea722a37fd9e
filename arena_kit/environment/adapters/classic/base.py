"""The base class of classic environments, which their code imports as `environments.base_environment`.

It has the names and meanings that environments of the older arena rely on; none of them has to be inherited.
"""

from __future__ import annotations

from typing import Any


class BaseEnvironment:
    """A game of two players who take turns."""

    def reset(self) -> Any:
        """Begin a match; return the state and the list of valid actions."""
        raise NotImplementedError

    def step(self, action: int) -> Any:
        """Play an action; return the state, the reward of the player who moved, whether it is over, valid actions."""
        raise NotImplementedError

    def to_jsonable(self) -> Any:
        """Return the state as something that JSON can hold."""
        raise NotImplementedError

    @staticmethod
    def html_head() -> str:
        """Return HTML for the page's head, which names style sheets."""
        return ""

    @staticmethod
    def jsonable_to_html(jsonable: Any) -> str:
        """Return HTML that shows a state, from what `to_jsonable` has returned."""
        raise NotImplementedError
