"""The forms in which a player may be written, each turned into the player contract.

`docs/participant/forms.md` lists them for people.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Dict

from . import serving

ACCEPTED = (
    "The arena accepts a class Player, create_agent() or create_agent(player_id), a class Agent with no argument or "
    "player_id, functions act, get_action or predict, and Kaggle's agent(observation, configuration)."
)
METHODS = ("act", "get_action", "predict")
VALID_NAMES = ("valid_actions", "legal_actions", "action_mask", "valid")
"""Names of a second argument that gets the valid actions."""
OBSERVATION_NAMES = ("obs", "observation")
BOARDS = {"connect-four": (7, 6, 4), "tic-tac-toe": (3, 3, 3)}
"""The environments whose observations Kaggle's agents get as a board: columns, rows and how many in a row win."""
KAGGLE_SECONDS = 60.0
VARIABLE = 4
"""The flag of code that takes any number of arguments."""


def adapt(name: str, module: Any) -> Callable[[bool], Any]:
    """Return a function that makes an object with the player contract from what the module defines."""
    if hasattr(module, "Player"):
        make: Callable[[bool], Any] = module.Player
        return without_argument(make) if takes_nothing(make) else make
    if maker := getattr(module, "create_agent", None) or agent_class(name, module):
        seated = seat_maker(maker)
        return lambda _: Adapted(seated, is_seated=seated is not maker)
    if any(callable(getattr(module, method, None)) for method in METHODS):
        return lambda _: Adapted(lambda: module, is_seated=False)
    if function := kaggle_function(name, module):
        return lambda _: Kaggle(function)
    raise RuntimeError(f"{name}.py has neither a class Player nor a class Agent. {ACCEPTED}")


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
    if any(p.name == "player_id" and p.kind is not p.POSITIONAL_ONLY for p in parameters(maker)):
        if [name for name in needed if name != "player_id"]:
            raise RuntimeError(f"{_name(maker)} needs more than player_id: {', '.join(needed)}. {ACCEPTED}")
        return lambda seat: maker(player_id=seat)
    if len(needed) > 1:
        raise RuntimeError(f"{_name(maker)} takes {len(needed)} arguments. {ACCEPTED}")
    return (lambda seat: maker(seat)) if needed else maker


def kaggle_function(name: str, module: Any) -> Any:
    """Return the function `agent`; in main.py else the last function with an observation, as Kaggle itself does."""
    if callable(agent := getattr(module, "agent", None)):
        return agent
    found = None
    for value in vars(module).values() if name == "main" else ():
        if callable(value) and getattr(value, "__module__", "") == module.__name__ and not isinstance(value, type):
            first = next(iter(parameters(value)), None)
            found = value if first is not None and first.name in OBSERVATION_NAMES else found
    return found


class Adapted:
    """Gives agents with `act`, `get_action` or `predict` the player contract: one agent, or one for each seat."""

    def __init__(self, make: Callable[..., Any], *, is_seated: bool) -> None:
        self._make, self._is_seated = make, is_seated
        self._seats: dict[int, Moves] = {}
        self.arena_sit(0)

    def arena_sit(self, seat: int) -> None:
        """Play the next match with the agent of this seat."""
        key = seat if self._is_seated else 0
        if key not in self._seats:
            self._seats[key] = Moves(self._make(seat) if self._is_seated else self._make())
        self._moves = self._seats[key]

    @property
    def max_parallel_matches(self) -> Any:
        return getattr(self._moves.agent, "max_parallel_matches", None)

    def start(self, state: Any, valid_actions: Any) -> Any:
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
        return plain(action)


class Struct(Dict[str, Any]):
    """A dictionary whose values are attributes too, as Kaggle's agents expect."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class Kaggle:
    """Gives a function `agent(observation, configuration)` the player contract.

    For the games of BOARDS it gets `board` and `mark` as Kaggle's connectx and tictactoe do; for the others `state`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        needed = required(function)
        if needed is not None and len(needed) > 2:
            raise RuntimeError(f"{_name(function)} takes {len(needed)} arguments. {ACCEPTED}")
        positional = [p for p in parameters(function) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self._is_configured = needed is None or len(positional) >= 2
        self._seat = self._step = 0

    def arena_sit(self, seat: int) -> None:
        """Play the next match in this seat."""
        self._seat = seat

    def start(self, state: Any, valid_actions: Any) -> Any:
        self._step = 0
        return self.step(state, valid_actions, 0.0)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any:
        values = state.ravel().tolist() if hasattr(state, "ravel") else list(state)
        valid = valid_actions.tolist() if hasattr(valid_actions, "tolist") else list(valid_actions)
        observation = Struct(
            step=self._step, remainingOverageTime=KAGGLE_SECONDS, mark=self._seat + 1, playerId=self._seat,
            legalActions=valid, reward=prev_reward,
        )  # fmt: skip
        configuration = Struct(actTimeout=1, agentTimeout=KAGGLE_SECONDS, episodeSteps=1000, runTimeout=1200)
        if shape := BOARDS.get(serving.environment.rpartition("-v")[0]):
            columns, rows, in_a_row = shape
            # Cells are 1 and -1 here; Kaggle's are the marks 1 and 2.
            observation.board = [2 if cell < 0 else cell for cell in values[: columns * rows]]
            configuration.update(columns=columns, rows=rows, inarow=in_a_row, timeout=1)
        else:
            observation.state = state
        # Kaggle counts the moves of both players.
        self._step += 2
        return plain(self._function(observation, configuration) if self._is_configured else self._function(observation))

    def end(self, state: Any, prev_reward: float) -> None:
        pass


def plain(action: Any) -> Any:
    """Return the number in an array with a single one; other actions stay as they are."""
    if serving.numpy is not None and isinstance(action, serving.numpy.ndarray) and action.size == 1:
        return action.reshape(-1)[0]
    return action


def parameters(function: Callable[..., Any]) -> list[Any]:
    """Return what a function takes; nothing for those that do not say."""
    import inspect

    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def required(function: Callable[..., Any]) -> list[str] | None:
    """Return the names of the arguments that a function cannot do without; None for one that does not say."""
    import inspect

    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in found if p.default is p.empty and p.kind not in kinds]


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", "The agent"))
