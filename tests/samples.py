"""Small agents for the end-to-end tests, and how they get into the arena."""

from __future__ import annotations

import io
import zipfile
from contextlib import nullcontext
from unittest.mock import patch

from django.core.files.uploadedfile import SimpleUploadedFile

from arena_kit.environment.registry import get_spec
from core.environments.services import environment_sync
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_fail
from core.models import Environment, JobFault, Recording, Submission, User
from core.submissions.services import agent_create
from core.tests.working import work_once

PLAYER = """
class Player:
    def __init__(self, train_mode):
        print("loaded for", "training" if train_mode else "playing")

    def start(self, state, valid_actions):
        return valid_actions[{index}]

    def step(self, state, valid_actions, prev_reward):
        return valid_actions[{index}]

    def end(self, state, prev_reward):
        pass
"""
FIRST, SECOND, LAST = (PLAYER.format(index=index) for index in (0, 1, -1))
MIDDLE = PLAYER.format(index="len(valid_actions) // 2")
"""Loses to FIRST from either seat."""
BROKEN = """
class Player:
    def __init__(self, train_mode):
        print("about to break")

    def start(self, state, valid_actions):
        return valid_actions[0]

    def step(self, state, valid_actions, prev_reward):
        raise RuntimeError("the model file is missing")

    def end(self, state, prev_reward):
        pass
"""
UNFORKABLE = "import os\nLOADED_BY = os.getpid()\n" + FIRST.replace(
    "        return",
    "        os.getpid() == LOADED_BY or os._exit(1)\n        return",
)
"""Dies, as with some drivers, in any process but the one that has loaded it."""
DYING = "import os, threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n" + (
    "os._exit(1)".join(FIRST.rsplit("return valid_actions[0]", 1))
)
"""Dies at its second move in every match, in a container that serves one duel only."""
BALANCING = PLAYER.format(index="int(state[2] + state[3] > 0)")
"""Pushes the cart to the side to which the pole falls."""
SCRIPT = """
import json, sys
import gymnasium

environment = gymnasium.make(sys.argv[1])
print("playing", environment.spec.id)
print(json.dumps({"score": 100000, "metrics": [99999, 100001], "episodes": 2}))
"""
"""Reports a score that no player can reach."""
MATCHES_PER_DUEL = 10
MATCHES_PER_VALIDATION = 4


def tic_tac_toe(rules: str = "tic-tac-toe-v1") -> Environment:
    """The row of Tic-tac-toe, with short duels. rules: the first have no openings."""
    row, _ = environment_sync(spec=get_spec(rules))
    row.matches_per_duel, row.matches_per_validation = MATCHES_PER_DUEL, MATCHES_PER_VALIDATION
    row.save()
    return row


def zip_of(source: str, name: str = "player.py") -> bytes:
    """An archive with this file; the same source gives the same bytes, whenever it is packed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr(zipfile.ZipInfo(name), source)
    return file.getvalue()


def archive(source: str, name: str = "player.py") -> SimpleUploadedFile:
    """The same, as a form hands it over."""
    return SimpleUploadedFile("player.zip", zip_of(source, name), content_type="application/zip")


def upload(environment: Environment, name: str, source: str, *, file: str = "player.py") -> Submission:
    """Upload an agent for a user of the same name."""
    owner, _ = User.objects.get_or_create(email=f"{name}@arena.example", defaults={"username": name})
    return agent_create(owner=owner, environment=environment, name=name, is_public=False, archive=archive(source, file))


def deliver_messages(*, drawing: bool = True) -> None:
    """Do what the workers do, one message or job after the other, until nothing is left.

    drawing: whether episodes are drawn, which takes longest; otherwise their recordings fail.
    """
    with nullcontext() if drawing else patch("duel_runner.recording.draw", _not_drawn):
        while work_once():
            pass


def _not_drawn(recording: Recording, lease: Lease) -> None:
    job_fail(job=recording, fault=JobFault.PLATFORM, code="not_drawn", error="Nothing is drawn here.", log=lease.text)
