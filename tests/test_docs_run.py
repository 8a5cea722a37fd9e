"""Every block of commands and Python that newcomers and organisers read is run as it is written, beside a demo."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from arena_kit.tests.environment.outside import copied
from tests.test_demo import ROOT, beside, demo, variables

FENCE = re.compile(r"^( *)```(sh|python)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
BLOCK_SECONDS = 240
NOT_RUN = {
    ("README.md", "make demo "): "the demo below is this command; the tests are these",
    ("docs/quickstart.md", "make demo"): "the demo below is this command",
    ("docs/participant/agents.md", "class Player:"): "the contract: methods without bodies",
    (
        "docs/organiser/classic-environments.md",
        "from environments.",
    ): "an outline; test_outside_environments.py plays one",
    ("docs/organiser/rollouts.md", "manage.py recheck_rollout"): "rollouts need Docker and images of their own",
}
"""By page and beginning: the blocks that are not run, each with the reason."""
EVERYWHERE = {
    # Without a terminal, as the page of the command says.
    r"arena login \S+": 'arena login "$ARENA" --with-token <<< "$TOKEN"',
    r"http://127\.0\.0\.1:8000": "$ARENA",
    r"2026-12-\d\dT18:00": "2999-12-04T18:00",
    # Optional arguments.
    r" \[--sandbox docker\]": "",
    r" \[--replay-players\]": " --replay-players",
}
CUP = "from core.models import Tournament; print(Tournament.objects.filter(name='Autumn cup').latest('pk').edition)"
INSTEAD = {
    "docs/participant/command.md": {
        # As the page says for matches of other people's agents; 3 is the exit code where a move differs.
        "arena replay 12/3 --diff my_player": "arena replay $DUEL/3 --diff my_player --side 1 || test $? = 3",
        r"\barena replay 12/3": "arena replay $DUEL/3",
        "arena submit my_player --new": 'echo "# Better." >> my_player/player.py; arena submit my_player --new',
        "arena pull connect-four/my-player": "arena pull connect-four/my-player; mv my_player first_player",
        "an-environment": "nim",
    },
    "docs/participant/results.md": {
        r"\bduel-12-records\.zip --sha256 HASH": "duel.zip --sha256 $DUEL_HASH",
        r"\bevaluation-34-records\.zip --sha256 HASH": "evaluation.zip --sha256 $EVALUATION_HASH",
        "--seeds-sha256 HASH": "--seeds-sha256 $SEEDS_HASH",
    },
    "docs/organiser/rechecks.md": {
        # The example players draw lots, so the same images may play another match: exit code 3.
        r"\brecheck duel 12 --replay-players.*": "recheck duel $DUEL --replay-players || test $? = 3",
        r"\brecheck duel 12": "recheck duel $DUEL",
        r"\brecheck evaluation 34": "recheck evaluation $EVALUATION",
        r"\bduel-12-records\.zip --sha256 \.\.\.": "duel.zip --sha256 $DUEL_HASH",
    },
    "docs/organiser/tournaments.md": {
        r"\bvoid-round connect-four 12": f'void-round connect-four $(manage.py shell -v 0 -c "{CUP}")',
    },
}
"""Regular expression to text: examples of numbers, dates and names in a page, and what stands for them here."""
SETTING_UP = """
from arena_kit.environment.registry import all_specs
from django.core.management import call_command
from core.environments.services import environment_sync
from core.models import Environment

call_command("migrate", verbosity=0)
for spec in all_specs():
    environment_sync(spec=spec)
Environment.objects.exclude(slug__in=("connect-four", "cart-pole")).update(is_active=False)
"""
"""The pages speak of these; the other environments would only take time."""
READERS = """
import json
from django.utils import timezone
from core.models import Duel, Environment, Evaluation, SeedList
from core.people.services import user_create
from core.people.tokens import token_create

names = ("minimax", "dummy")
duels = Duel.objects.filter(state="SUCCEEDED", tournament__environment__slug="connect-four", tournament__edition=1)
duel = duels.get(player_1__agent__name__in=names, player_2__agent__name__in=names)
evaluation = Evaluation.objects.filter(state="SUCCEEDED", submission__agent__name="cem").first()
tokens = {{}}
for name in {names!r}:
    user = user_create(email=f"{{name}}@arena.example", username=name, password="a-long-way-to-read")
    tokens[name] = token_create(owner=user, name="reader", now=timezone.now(), days=1)[1]
SeedList.objects.update(revealed_at=timezone.now())
numbers = {{
    "DUEL": str(duel.pk), "DUEL_HASH": duel.record_sha256, "EVALUATION": str(evaluation.pk),
    "EVALUATION_HASH": evaluation.record_sha256, "SEEDS_HASH": evaluation.seed_list.sha256,
}}
print(json.dumps([tokens, numbers]))
"""
"""An account and a token for the reader of each page, and what pages name by a number or a hash."""
LADDER = """
import time
from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.models import Environment
from core.tournaments.ladder_selectors import ladder_running

row = Environment.objects.get(slug="connect-four")
Environment.objects.filter(pk=row.pk).update(play="LADDER")
until = time.monotonic() + 60
while ladder_running(row) is None and time.monotonic() < until:
    task_request("tournament", TOURNAMENT_TASK, row.pk)
    time.sleep(0.5)
"""
"""The first step of the page about ladders, which is a form of the site; a running edition ends first."""
PLAYERS = ("my_player", "other_player", "opponent", "my_agent", "other_agent", "my_agents/one", "my_agents/two")
"""Folders that pages name without saying that they are made there."""

pytestmark = [pytest.mark.slow, pytest.mark.long]


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a page, in its language, without its indentation."""

    page: str
    language: str
    text: str

    @property
    def reason(self) -> str:
        """Why it is not run; empty if it is."""
        found = [why for (page, start), why in NOT_RUN.items() if page == self.page and self.text.startswith(start)]
        return found[0] if found else ""

    @property
    def command(self) -> str:
        text = self.text
        for pattern, replacement in {**INSTEAD.get(self.page, {}), **EVERYWHERE}.items():
            text = re.sub(pattern, replacement, text)
        # One name for each page, because names of agents are taken once.
        return text.replace("my-player", f"my-player-{Path(self.page).stem.lower()}")


def blocks() -> list[Block]:
    pages = [ROOT / "README.md", ROOT / "docs" / "quickstart.md"]
    pages += [*sorted((ROOT / "docs/participant").glob("*.md")), *sorted((ROOT / "docs/organiser").glob("*.md"))]
    return [
        Block(page.relative_to(ROOT).as_posix(), found[2], re.sub(rf"^{found[1]}", "", found[3], flags=re.MULTILINE))
        for page in pages
        for found in FENCE.finditer(page.read_text())
    ]


def runnable() -> dict[str, list[Block]]:
    """Return the blocks that are run, by page."""
    found: dict[str, list[Block]] = {}
    for block in blocks():
        if not block.reason:
            found.setdefault(block.page, []).append(block)
    return found


def test_what_is_not_run_is_on_its_page() -> None:
    shown = {(block.page, start) for block in blocks() for page, start in NOT_RUN if block.text.startswith(start)}
    assert set(NOT_RUN) <= shown
    for page, patterns in INSTEAD.items():
        text = "".join(block.text for block in blocks() if block.page == page)
        assert [pattern for pattern in patterns if not re.search(pattern, text)] == [], page
    for block in blocks():
        if block.language == "python":
            compile(block.text, block.page, "exec")


@dataclass(frozen=True, slots=True)
class Site:
    """A running demo: its data and its address, tokens by the names of readers, and what pages name by a number."""

    data: Path
    address: str
    tokens: Mapping[str, str]
    numbers: Mapping[str, str]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    data = tmp_path_factory.mktemp("demo")
    copied("nim", data / "environments")
    beside(data, SETTING_UP)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    with demo(data, port, "--matches", "4") as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith("Open http"):
                break
        assert process.poll() is None, "".join(said)
        # All at once: a program that loads the arena takes seconds.
        readers = READERS.format(names=[reader_of(page) for page in runnable()])
        yield Site(data, f"http://127.0.0.1:{port}", *json.loads(beside(data, readers)))


def reader_of(page: str) -> str:
    """Return the name of the person who reads a page."""
    return re.sub(r"\W+", "-", Path(page).stem.lower())


def program(folder: Path, name: str, *command: str) -> None:
    (folder / name).write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
    (folder / name).chmod(0o755)


def fetch(address: str, file: Path) -> None:
    with urllib.request.urlopen(address) as answer:
        file.write_bytes(answer.read())


class Reader:
    """A person with an account, who reads one page and does what it says in a folder."""

    def __init__(self, site: Site, page: str, folder: Path) -> None:
        name = reader_of(page)
        self.folder = folder / name
        tools = folder / f"{name}-tools"
        for made in (self.folder, tools):
            made.mkdir()
        program(tools, "arena", sys.executable, "-m", "arena_kit")
        program(tools, "python", sys.executable)
        program(tools, "manage.py", sys.executable, str(ROOT / "manage.py"))
        given = variables(site.data)
        self.variables = {
            **given, "PATH": f"{tools}:{given['PATH']}", "PYTHONPATH": str(ROOT), "SANDBOX": "process",
            "XDG_CONFIG_HOME": str(tools), "ARENA": site.address, "TOKEN": site.tokens[name], "NO_COLOR": "1",
            "PIP_NO_DEPS": "1", "SITE_URL": site.address,
            **site.numbers,
        }  # fmt: skip
        self.site = site

    def prepare(self, page: str, own: list[Block]) -> None:
        """Put down what the page takes for granted."""
        if page == "docs/organiser/ladders.md":
            beside(self.site.data, LADDER)
        if not any("arena login" in block.text for block in own):
            self.variables |= {"ARENA_URL": self.site.address, "ARENA_TOKEN": self.variables["TOKEN"]}
        fetch(f"{self.site.address}/environments/connect-four/kits/minimax.zip", self.folder / "minimax.zip")
        duel, evaluation = self.variables["DUEL"], self.variables["EVALUATION"]
        fetch(f"{self.site.address}/duels/{duel}/records.zip", self.folder / "duel.zip")
        fetch(f"{self.site.address}/evaluations/{evaluation}/records.zip", self.folder / "evaluation.zip")
        player = next((block.text for block in blocks() if block.text.startswith("import random")), "")
        made = {word for block in own for word in re.findall(r"arena new (\S+)", block.text)} - {"my_player"}
        for name in PLAYERS:
            if name not in made and not (page == "docs/quickstart.md" and name == "my_player"):
                (self.folder / name).mkdir(parents=True)
                (self.folder / name / "player.py").write_text(player)
        for script in (block.text for block in own if "submission.py ENVIRONMENT_ID" in block.text):
            (self.folder / "my_folder").mkdir()
            for file in (self.folder / "submission.py", self.folder / "my_folder" / "submission.py"):
                file.write_text(script)

    def run(self, block: Block) -> str:
        """Return what went wrong; empty if nothing did."""
        command = ["bash", "-euc", block.command] if block.language == "sh" else [sys.executable, "-c", block.command]
        if "submission.py ENVIRONMENT_ID" in block.text:
            command = [sys.executable, "submission.py", "CartPole-v1"]
        done = subprocess.run(
            command, cwd=self.folder, env=self.variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=BLOCK_SECONDS, check=False,
        )  # fmt: skip
        return (
            f"{block.page}, exit code {done.returncode}:\n{block.text}\n{done.stdout[-2000:]}"
            if done.returncode
            else ""
        )


def test_every_runnable_block_does_what_its_page_says(site: Site, tmp_path: Path) -> None:
    assert shutil.which("bash")
    failed, pages = [], runnable()
    for page, own in pages.items():
        reader = Reader(site, page, tmp_path)
        reader.prepare(page, own)
        failed += [problem for block in own if (problem := reader.run(block))]
    assert failed == [], "\n\n".join(failed)
    assert sum(map(len, pages.values())) > 25
