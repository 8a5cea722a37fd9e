"""How earlier arenas spoke to a player: a Flask server in its container, one HTTP POST with JSON per move.

Runs under gunicorn with the folder of `player.py` on the module path.
"""

from __future__ import annotations

import numpy as np
from flask import Flask, Response, jsonify, request
from player import Player  # type: ignore[import-not-found]  # whoever is measured

app = Flask(__name__)
player = Player(False)


@app.get("/")
def is_alive() -> str:
    """Answers once the player is loaded."""
    return "ready"


@app.post("/start")
def start() -> Response:
    """First move of a match."""
    asked = request.get_json()
    return jsonify(action=int(player.start(np.array(asked["state"]), np.array(asked["valid_actions"]))))


@app.post("/step")
def step() -> Response:
    """Later moves."""
    asked = request.get_json()
    state, valid_actions = np.array(asked["state"]), np.array(asked["valid_actions"])
    return jsonify(action=int(player.step(state, valid_actions, asked["prev_reward"])))


@app.post("/end")
def end() -> Response:
    """The match is over."""
    asked = request.get_json()
    player.end(np.array(asked["state"]), asked["prev_reward"])
    return jsonify(done=True)
