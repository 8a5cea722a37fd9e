"""The protocol of earlier arenas: a Flask server in the player's container, and one HTTP POST with JSON per move.

Runs under gunicorn with the folder of `player.py` on the module path.
"""

from __future__ import annotations

import numpy as np
from flask import Flask, Response, jsonify, request
from player import Player  # type: ignore[import-not-found]  # the measured player

app = Flask(__name__)
player = Player(False)


@app.get("/")
def is_alive() -> str:
    """Answer once the player is loaded."""
    return "ready"


@app.post("/start")
def start() -> Response:
    """Answer the first move of a match."""
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
    """Tell the player that the match is over."""
    asked = request.get_json()
    player.end(np.array(asked["state"]), asked["prev_reward"])
    return jsonify(done=True)
