"""What a person does with `arena` at home, on a simulated machine or on this one: python -m tests.machines.journey

It needs no site and no test runner, so that the same commands run on machines that have only the library installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.machines import ROOT, arena, simulated

FIRST = """
class Player:
    def __init__(self, train_mode): ...
    def start(self, state, valid_actions): return valid_actions[0]
    def step(self, state, valid_actions, prev_reward): return valid_actions[0]
    def end(self, state, prev_reward): ...
"""
LAST = FIRST.replace("[0]", "[-1]")
CYRILLIC = 'class Player:\n    def __init__(self, train_mode):\n        raise RuntimeError("ход → ✓")\n'
SCRIPT = 'print("счёт → ✓")\nprint(\'{"score": 2.5}\')\n'
GAME, CART = ("--environment", "tic-tac-toe"), ("--environment", "CartPole-v1")
NO_ENGINE = {"DOCKER_HOST": "unix:///nowhere/engine.sock"}


class Machine:
    """A machine on which a person types commands. system: simulated; "" for this one, with arena-kit installed."""

    def __init__(self, system: str, encoding: str, folder: Path) -> None:
        home = folder / "home"
        home.mkdir()
        own = {"PYTHONIOENCODING": encoding, "XDG_CONFIG_HOME": str(home), **NO_ENGINE}
        self.folder, self.encoding, self.used = folder, encoding, set[str]()
        self.variables = simulated(system, **own) if system else {**os.environ, **own}

    def run(self, *words: str | Path, status: int = 0, typed: str = "") -> str:
        """Run a verb, which must end with this status; return all that it printed."""
        self.used.add(str(words[0]))
        done = subprocess.run(
            arena(*map(str, words)), cwd=self.folder, env=self.variables, input=typed.encode(), capture_output=True,
            timeout=300, check=False,
        )  # fmt: skip
        printed = (done.stdout + done.stderr).decode(self.encoding, "strict")
        assert done.returncode == status, (words, printed)
        assert "UnicodeEncodeError" not in printed
        return printed.replace("\r\n", "\n")

    def data(self, *words: str | Path) -> Any:
        """Run a verb that prints JSON."""
        printed = self.run(*words, "--json")
        return json.loads(printed[printed.index("{") : printed.rindex("}") + 1])


def at_home(machine: Machine) -> None:
    """Run the verbs that need no site: make, check, pack and play agents, also one whose exception is in Cyrillic."""
    run, folder = machine.run, machine.folder
    for name, source in (("mine", FIRST), ("broken", CYRILLIC), ("agents/first", FIRST), ("agents/last", LAST)):
        (folder / name).mkdir(parents=True)
        (folder / name / "player.py").write_text(source, encoding="utf-8")
    (folder / "script").mkdir()
    (folder / "script" / "submission.py").write_text(SCRIPT, encoding="utf-8")
    shutil.copytree(ROOT / "example_players" / "random", folder / "random")
    shutil.copytree(folder / "mine", folder / "mein Spieler, Jürgens")
    run("new", "made", *GAME)
    assert "It passes" in run("check", "mine", *GAME)
    assert "\\u0445\\u043e\\u0434 \\u2192 \\u2713" in run("check", "broken", *GAME, status=3)
    assert "\\u0445\\u043e\\u0434" in run("play", "mine", "broken", *GAME, "--matches", "2", "--output", "duel.json")
    assert run("play", "broken", "broken", *GAME, "--matches", "2", status=3).count("\\u2713") >= 2
    assert "no file or folder C:\\agents\\mine." in run("play", "mine", "C:\\agents\\mine", *GAME, status=2)
    run("pack", "mine", "--output", "mine.zip")
    assert "2 matches" in run("play", "mine.zip", "mein Spieler, Jürgens", *GAME, "--matches", "2")
    run("ladder", "agents", *GAME, "--matches", "2", "--output", "ladder.html")
    run("evaluate", "random", *CART, "--episodes", "2", "--records", "records.zip", "--log", "-")
    assert "verifies" in run("recheck", "records.zip")
    assert "Score: 2.5" in run("script", "script", *CART, "--no-install", "--log", "-")
    run("replay", "duel.json", "--html", "duel.html")
    assert (folder / "duel.html").is_file()


def main() -> None:
    for encoding in ("cp1252", "ascii"):
        with tempfile.TemporaryDirectory(prefix="arena-journey-") as folder:
            machine = Machine("", encoding, Path(folder))
            at_home(machine)
            played = json.loads((machine.folder / "duel.json").read_text(encoding="utf-8"))["check"]["sandbox"]
            print(f"{sys.platform}, {encoding}: {', '.join(sorted(machine.used))}; players ran in: {played}")


if __name__ == "__main__":
    main()
