"""The notebook of an environment's page, run from its first cell to its last in a kernel against a live site."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from django.core.cache import cache
from django.utils import timezone
from nbclient import NotebookClient
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from core.models import Submission
from core.people.tokens import token_create
from core.tests import factories
from tests.samples import LAST, deliver_messages, tic_tac_toe, upload

pytestmark = [
    # The kernel asks the site while this process does the workers' part.
    pytest.mark.postgres, pytest.mark.slow, pytest.mark.django_db(transaction=True),
    # Of the kernel's own clients.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]  # fmt: skip


def outputs(cell: Any) -> dict[str, str]:
    """Return what a cell shows, by the types of the data."""
    return {kind: str(data) for output in cell.outputs for kind, data in output.get("data", {}).items()}


def test_the_notebook_of_a_page_runs_from_the_rules_to_the_leaderboard(
    live_server: LiveServer, settings: Settings, tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path
    cache.clear()
    environment = tic_tac_toe("tic-tac-toe-v2")
    upload(environment, "rival", LAST)
    ada = factories.user("ada")
    page = client.get(f"/environments/{environment.slug}/write/").content.decode()
    (address,) = re.findall(r'href="([^"]+\.ipynb)"', page)
    answer = client.get(address, headers={"host": live_server.url.removeprefix("http://")})
    notebook = nbformat.reads(answer.content.decode(), as_version=4)
    nbformat.validate(notebook)

    # A home, packages and a token of its own. pip finds arena-kit at the site, and the rest is there already.
    packages = tmp_path / "packages"
    packages.mkdir()
    for name, value in {
        "ARENA_TOKEN": token_create(owner=ada, name="kernel", now=timezone.now(), days=1)[1],
        "XDG_CONFIG_HOME": str(tmp_path / "home"),
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "PIP_TARGET": str(packages),
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": str(packages),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ARENA_URL", raising=False)
    kernel = NotebookClient(notebook, timeout=300, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}})
    running = threading.Thread(target=lambda: asyncio.run(kernel.async_execute()))
    running.start()
    while running.is_alive():
        deliver_messages()
        time.sleep(0.1)

    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    errors = [output.evalue for cell in code for output in cell.outputs if output.output_type == "error"]
    assert (errors, [cell.execution_count for cell in code]) == ([], list(range(1, len(code) + 1)))
    assert (packages / "arena_kit").is_dir()
    drawn, result, match = (
        next(cell for cell in code if re.search(rf"^{start}", cell.source, re.MULTILINE))
        for start in ("environment$", "result$", r"result\.matches")
    )
    assert "data:image/svg+xml" in outputs(drawn)["text/html"]
    assert "MyPlayer scores" in outputs(result)["text/html"]
    assert "srcdoc=" in outputs(match)["text/html"]
    board, submitted, checked = (outputs(cell).get("text/html", "") for cell in (code[-1], code[-2], code[-5]))
    assert "It passes" in checked
    assert "my-agent, version 1 in tic-tac-toe: ready" in submitted
    assert "tic-tac-toe: " in board
    assert Submission.objects.get(agent__owner=ada).agent.name == "my-agent"
    # For people who look at what was made: pytest --basetemp=FOLDER keeps it.
    nbformat.write(notebook, tmp_path / "executed.ipynb")
