"""Environments as PettingZoo's: AEC, where one agent acts after the other, and parallel, where all act at once."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import AECEnv, ParallelEnv

from arena_kit.environment.adapters.exports.pictures import RENDER_MODES, Drawn
from arena_kit.environment.adapters.exports.seated_match import TURNS_PER_SECOND, SeatedMatch
from arena_kit.environment.spec import EnvironmentSpec


class _Seats(Drawn):
    """The base of both kinds: agents `player_0`, `player_1`, ... in the order of seats, their spaces, and a table.

    An observation is {"observation": array, "action_mask": array} where actions are numbers, otherwise the array.
    """

    def __init__(self, spec: EnvironmentSpec, render_mode: str | None = None, *, openings: bool = True) -> None:
        """openings: whether matches begin with them. Raises ValueError for an unknown render mode, and MissingExtra."""
        self.render_mode = render_mode
        self._table = table = SeatedMatch(spec, render_mode, openings=openings)
        self.possible_agents = [f"player_{seat}" for seat in range(spec.seats)]
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.agents: list[str] = []
        seen: Any = table.observation_space
        if table.has_mask:
            mask = spaces.Box(0, 1, (spec.action_count,), np.int8)
            seen = spaces.Dict({"observation": seen, "action_mask": mask})
        # Every agent has its own spaces: PettingZoo seeds them one by one.
        self._observation_spaces = {agent: deepcopy(seen) for agent in self.possible_agents}
        self._action_spaces = {agent: deepcopy(table.action_space) for agent in self.possible_agents}
        self._random, _ = seeding.np_random()

    def observation_space(self, agent: str) -> Any:
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self._action_spaces[agent]

    def close(self) -> None:
        """Nothing is left open."""

    def _start(self, seed: int | None) -> None:
        if seed is not None:
            self._random, _ = seeding.np_random(seed)
        self._table.reset(int(self._random.integers(2**32)))
        self.agents = self.possible_agents[:]

    def _seen(self, agent: str) -> Any:
        seat = self._seat_of[agent]
        observation = self._table.observation(seat)
        if not self._table.has_mask:
            return observation
        return {"observation": observation, "action_mask": self._table.mask(seat)}


class ArenaAEC(_Seats, AECEnv):  # type: ignore[misc]  # PettingZoo's types are not checked here
    """Agents act one after the other; where seats act at once, a step of the match is played when all have chosen."""

    def __init__(self, spec: EnvironmentSpec, render_mode: str | None = None, *, openings: bool = True) -> None:
        AECEnv.__init__(self)
        _Seats.__init__(self, spec, render_mode, openings=openings)
        self.metadata = {**self._table.metadata, "name": spec.id, "is_parallelizable": False}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self._start(seed)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._chosen: dict[int, Any] = {}
        self.agent_selection = self.possible_agents[self._table.to_move[0]]

    def observe(self, agent: str) -> Any:
        return self._seen(agent)

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        table = self._table
        to_move = table.to_move
        self._chosen[self._seat_of[agent]] = action
        waiting = [seat for seat in to_move if seat not in self._chosen]
        if waiting:
            self.agent_selection = self.possible_agents[waiting[0]]
            return
        chosen, self._chosen = self._chosen, {}
        for seat, reward in enumerate(table.step(chosen)):
            self.rewards[self.possible_agents[seat]] = reward
        if table.to_move:
            self.agent_selection = self.possible_agents[table.to_move[0]]
        else:
            ended = self.truncations if table.truncated else self.terminations
            ended.update(dict.fromkeys(self.agents, True))
            self.agent_selection = self.agents[0]
        self._accumulate_rewards()


class ArenaParallel(_Seats, ParallelEnv):  # type: ignore[misc]  # PettingZoo's types are not checked here
    """All agents give an action at every step; those of seats that do not act now have no effect.

    Their action mask is all 0. `info["acts"]` says whether a seat acts next.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(RENDER_MODES), "render_fps": TURNS_PER_SECOND}

    def __init__(self, spec: EnvironmentSpec, render_mode: str | None = None, *, openings: bool = True) -> None:
        _Seats.__init__(self, spec, render_mode, openings=openings)
        self.metadata = {**self._table.metadata, "name": spec.id}  # type: ignore[misc]  # each environment has its name

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        self._start(seed)
        return {agent: self._seen(agent) for agent in self.agents}, self._infos()

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        table, agents = self._table, self.agents
        if not agents:
            return {}, {}, {}, {}, {}
        rewards = table.step({seat: actions[self.possible_agents[seat]] for seat in table.to_move})
        is_over, truncated = not table.to_move, table.truncated
        seen, infos = {agent: self._seen(agent) for agent in agents}, self._infos()
        if is_over:
            self.agents = []
        return (
            seen,
            {agent: rewards[self._seat_of[agent]] for agent in agents},
            dict.fromkeys(agents, is_over and not truncated),
            dict.fromkeys(agents, is_over and truncated),
            infos,
        )

    def _infos(self) -> dict[str, dict[str, Any]]:
        return {agent: {"acts": self._seat_of[agent] in self._table.to_move} for agent in self.agents}
