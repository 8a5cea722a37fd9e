"""The forms in which a player may be written, each turned into the player contract.

`docs/participant/forms.md` lists them for people.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from arena_kit.contract import FORMS, METHODS, OBSERVATION_NAMES

from .kaggle import Kaggle, Variables
from .signatures import parameters, required

ACCEPTED = (
    "The arena accepts a class Player, create_agent() or create_agent(player_id), a class Agent with no argument or "
    "player_id, functions act, get_action or predict, and Kaggle's agent(observation, configuration)."
)
VALID_NAMES = ("valid_actions", "legal_actions", "action_mask", "valid")
"""Names of a second argument that gets the valid actions."""
UNKNOWN = re.compile(
    r"env|space|(?:^|_)(?:board|game|model|path|config|args|dim|size|shape|device|checkpoint)(?:_|$)|^n_|^num_"
)
"""Names of arguments that no seat is meant by, and that training programs give to their agents."""
VARIABLE = 4
"""The flag of code that takes any number of arguments."""


class Unfit(RuntimeError):
    """Something has the name of a player, but cannot be called as the arena calls it."""


def adapt(name: str, module: Any) -> Callable[[bool], Any]:
    """Return a function that makes an object with the player contract from what the module defines.

    The first form that can really be called is the player: beside it, a file may have helpers of the same names.
    """
    unfit = []
    for form in (player_class, maker, kaggle_named, agents, functions, kaggle_any):
        try:
            found = form(name, module)
        except Unfit as error:
            unfit.append(error)
            continue
        if found is not None:
            return found
    if unfit:
        raise unfit[0]
    raise RuntimeError(f"{name}.py has neither a class Player nor a class Agent. {ACCEPTED}")


def player_class(name: str, module: Any) -> Callable[[bool], Any] | None:
    """Return the class Player; one without its methods only if nothing else in the file looks like a player."""
    make = getattr(module, "Player", None)
    if make is None:
        return None
    if isinstance(make, type):
        if getattr(make, "__abstractmethods__", None):
            make = only_child(name, make, module)
        check_needs(make.__name__, needed_by(make), most=1)
        others = [other for other in FORMS[1:] if hasattr(module, other)]
        if not all(callable(getattr(make, method, None)) for method in ("start", "step")) and (
            others or last_function(module)
        ):
            raise Unfit(f"The class Player of {name}.py has no methods start and step. {ACCEPTED}")
    return without_argument(make) if takes_nothing(make) else make


def only_child(name: str, base: type, module: Any) -> type:
    """Return the one class of the file that fills in an abstract class Player."""
    values = dict.fromkeys(value for value in vars(module).values() if isinstance(value, type))
    found = [one for one in values if issubclass(one, base) and not getattr(one, "__abstractmethods__", None)]
    if len(found) != 1:
        names = ", ".join(sorted(one.__name__ for one in found)) or "none"
        raise Unfit(
            f"Player of {name}.py is abstract, and the arena plays the one class that fills it in; there: {names}. "
            "Call the one that shall play Player."
        )
    return found[0]


def maker(name: str, module: Any) -> Callable[[bool], Any] | None:
    """Return what plays with the agents of the function create_agent."""
    function = getattr(module, "create_agent", None)
    return None if function is None else adapted(function)


def agents(name: str, module: Any) -> Callable[[bool], Any] | None:
    """Return what plays with the agents of the class Agent."""
    found = agent_class(name, module)
    if found is None:
        return None
    if isinstance(found, type):
        check_method(found)
    return adapted(found)


def functions(name: str, module: Any) -> Callable[[bool], Any] | None:
    """Return what plays with a function of the file."""
    if not any(callable(getattr(module, method, None)) for method in METHODS):
        return None
    check_method(module)
    return lambda _: Adapted(lambda: module, is_seated=False)


def kaggle_named(name: str, module: Any) -> Callable[[bool], Any] | None:
    """Return what plays with `agent(observation, configuration)`, which no helper is called."""
    function = getattr(module, "agent", None)
    if not callable(function):
        return None
    first, *more = [*[p.name for p in parameters(function)], ""][:2]
    return (lambda _: Kaggle(function, module)) if first in OBSERVATION_NAMES and any(more) else None


def kaggle_any(name: str, module: Any) -> Callable[[bool], Any] | None:
    """Return what plays with `agent`, or else with the last function that takes an observation, as Kaggle does."""
    function = getattr(module, "agent", None)
    function = function if callable(function) else last_function(module)
    if function is None:
        return None
    needed = required(function)
    if needed is not None and len(needed) > 2:
        raise Unfit(f"{_name(function)} takes {len(needed)} arguments. {ACCEPTED}")
    return lambda _: Kaggle(function, module)


def last_function(module: Any) -> Any:
    """Return the last function of the file whose first argument is an observation; None without one."""
    found = None
    for value in vars(module).values():
        if callable(value) and getattr(value, "__module__", "") == module.__name__ and not isinstance(value, type):
            first = next(iter(parameters(value)), None)
            found = value if first is not None and first.name in OBSERVATION_NAMES else found
    return found


def adapted(make: Callable[..., Any]) -> Callable[[bool], Any]:
    """Return what plays with the agents that `make` returns. Raises Unfit if it needs what the arena does not have."""
    seated = seat_maker(make)
    return lambda _: Adapted(seated, is_seated=seated is not make)


def check_needs(name: str, needed: list[str] | None, *, most: int) -> None:
    """Raise Unfit for a maker that needs more arguments than `most`, or one that players do not get."""
    if not needed:
        return
    if unknown := [word for word in needed if UNKNOWN.search(word)]:
        raise Unfit(
            f"{name} needs {' and '.join(unknown)}, which players do not get: there is no environment where they run, "
            "only the state and the valid actions of every move. Give the argument a default, or write the number of "
            f"actions and the like into the file. {ACCEPTED}"
        )
    if len(needed) > most:
        raise Unfit(f"{name} needs {', '.join(needed)}: the arena gives {most} argument. {ACCEPTED}")


def check_method(owner: Any) -> None:
    """Raise Unfit if the method of a class, or the function of a file, needs an argument that the arena lacks."""
    method = next((name for name in METHODS if callable(getattr(owner, name, None))), None)
    if method is None:
        if isinstance(owner, type) and hasattr(owner, "__getattr__"):
            return
        raise Unfit(f"The agent has none of the methods {', '.join(METHODS)}. {ACCEPTED}")
    function = getattr(owner, method)
    bound = isinstance(owner, type) and not isinstance(vars_of(owner, method), (staticmethod, classmethod))
    second = (required(function) or [])[1 + bound : 2 + bound]
    if second and second[0] not in VALID_NAMES:
        raise Unfit(f"{method}() needs {second[0]}, which the arena does not have. {ACCEPTED}")


def vars_of(owner: type, name: str) -> Any:
    """Return an attribute of a class as it is written, e.g. a staticmethod."""
    return next((vars(base)[name] for base in owner.__mro__ if name in vars(base)), None)


def needed_by(make: type) -> list[str] | None:
    """Return the arguments that a class cannot do without; without `inspect` for classes that are written plainly."""
    begin: Any = getattr(make, "__init__", None)
    code = getattr(begin, "__code__", None)
    if code is None or code.co_kwonlyargcount or hasattr(begin, "__wrapped__"):
        return required(make) if begin is not object.__init__ else []
    names = code.co_varnames[1 : code.co_argcount]
    return list(names[: len(names) - len(begin.__defaults__ or ())])


def takes_nothing(make: Any) -> bool:
    """Return whether a class has no `train_mode`; without the module `inspect`, whose import takes long."""
    begin = getattr(make, "__init__", None)
    if begin is object.__init__:
        return getattr(make, "__new__", None) is object.__new__
    code = getattr(begin, "__code__", None)
    return isinstance(make, type) and code is not None and code.co_argcount == 1 and not code.co_flags & VARIABLE


def without_argument(make: Callable[..., Any]) -> Callable[[bool], Any]:
    """Return a class that takes no `train_mode` as one that takes it."""
    made = lambda _: make()  # noqa: E731  (a function with a name would have no attributes of the class, either)
    made.max_parallel_matches = getattr(make, "max_parallel_matches", None)  # type: ignore[attr-defined]
    return made


def agent_class(name: str, module: Any) -> Any:
    """Return the class Agent; if that is only a base class from elsewhere, the one class of the file that can play."""
    agent = getattr(module, "Agent", None)
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and any(callable(getattr(value, method, None)) for method in METHODS)
        and not getattr(value, "__abstractmethods__", None)
    ]
    if agent is None or not isinstance(agent, type) or agent in own:
        return agent
    if not own:
        return None if getattr(agent, "__abstractmethods__", None) else agent
    if len(own) > 1:
        names = ", ".join(sorted(value.__name__ for value in own))
        raise RuntimeError(f"{name}.py defines several agents ({names}): add create_agent() for one. {ACCEPTED}")
    return own[0]


def seat_maker(maker: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes an agent for a seat, or `maker` itself if it takes no seat."""
    needed = required(maker)
    if needed is None:
        return maker
    check_needs(_name(maker), needed, most=max(1, len(needed)))
    if any(p.name == "player_id" and p.kind is not p.POSITIONAL_ONLY for p in parameters(maker)):
        if [name for name in needed if name != "player_id"]:
            raise Unfit(f"{_name(maker)} needs more than player_id: {', '.join(needed)}. {ACCEPTED}")
        return lambda seat: maker(player_id=seat)
    if len(needed) > 1:
        raise Unfit(f"{_name(maker)} takes {len(needed)} arguments. {ACCEPTED}")
    return (lambda seat: maker(seat)) if needed else maker


class Adapted:
    """Gives agents with `act`, `get_action` or `predict` the player contract: one agent, or one for each seat."""

    def __init__(self, make: Callable[..., Any], *, is_seated: bool) -> None:
        self._make, self._is_seated = make, is_seated
        self._seats: dict[int, Moves] = {}
        self._variables: Variables | None = None
        self.arena_sit(0)

    def arena_sit(self, seat: int) -> None:
        """Play the next match with the agent of this seat."""
        key = seat if self._is_seated else 0
        if key not in self._seats:
            self._seats[key] = Moves(self._make(seat) if self._is_seated else self._make())
        self._moves = self._seats[key]

    @property
    def max_parallel_matches(self) -> Any:
        # The functions of a file share its variables, which are about one match.
        own = 1 if isinstance(self._moves.agent, ModuleType) else None
        return getattr(self._moves.agent, "max_parallel_matches", own)

    def start(self, state: Any, valid_actions: Any) -> Any:
        if isinstance(self._moves.agent, ModuleType) and self.max_parallel_matches == 1:
            self._variables = self._variables or Variables(self._moves.agent)
            self._variables.renew()
        if callable(reset := getattr(self._moves.agent, "reset", None)):
            reset()
        return self._moves.choose(state, valid_actions)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any:
        return self._moves.choose(state, valid_actions)

    def end(self, state: Any, prev_reward: float) -> None:
        pass


class Moves:
    """The moves of one agent."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        method = next((name for name in METHODS if callable(getattr(agent, name, None))), None)
        if method is None:
            raise RuntimeError(f"The agent has none of the methods {', '.join(METHODS)}. {ACCEPTED}")
        self._choose = getattr(agent, method)
        self._is_predict = method == "predict"
        second = (required(self._choose) or [])[1:2]
        self._with_valid_actions = bool(second) and second[0] in VALID_NAMES
        if second and not self._with_valid_actions:
            raise RuntimeError(f"{method}() needs {second[0]}, which the arena does not have. {ACCEPTED}")

    def choose(self, state: Any, valid_actions: Any) -> Any:
        action = self._choose(state, valid_actions) if self._with_valid_actions else self._choose(state)
        if self._is_predict and isinstance(action, tuple):
            action = action[0]
        return action


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", "The agent"))
