"""Learns Tic-tac-toe with MaskablePPO of sb3-contrib, then plays random play, by the arena's referee.

It needs arena-kit with its part `gymnasium`, `stable-baselines3` and `sb3-contrib`, and takes 40 seconds of one core.
"""

from __future__ import annotations

import sys
from typing import Any

import gymnasium
import numpy as np
from sb3_contrib import MaskablePPO

import arena_kit

environment = gymnasium.make("arena/tic-tac-toe", opponent="random")
model = MaskablePPO("MlpPolicy", environment, seed=0, learning_rate=1e-3, n_steps=1024, batch_size=256)
model.learn(25_000)


def learned(state: Any, valid_actions: Any) -> int:
    mask = np.isin(np.arange(9), valid_actions)
    return int(model.predict(state, action_masks=mask, deterministic=True)[0])


result = arena_kit.play(learned, "random", environment="tic-tac-toe", matches=200)
sys.stdout.write(f"{result}\n")
