"""What the documents say is what the code does: variables, commands, links, lock files."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parent.parent
COMPOSE = ROOT / "docker-compose.yml"
DEPENDS_ON_THE_MACHINE = {"DATA_DIR", "DATABASE_URL", "DUEL_PARALLELISM"}
"""Variables whose default is computed: the example shows one that could be."""


def example_variables() -> dict[str, tuple[str, bool]]:
    """Name to (value, is commented out) of example.env."""
    lines = (ROOT / "example.env").read_text().splitlines()
    found = (re.fullmatch(r"(# )?([A-Z][A-Z0-9_]*)=(.*)", line) for line in lines)
    return {match[2]: (match[3], match[1] is not None) for match in found if match}


def compose_variables() -> set[str]:
    return set(re.findall(r"\$\{([A-Z0-9_]+)", COMPOSE.read_text()))


def documents() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_example_env_names_exactly_the_variables_of_the_settings_and_of_compose() -> None:
    assert set(example_variables()) == set(settings.VARIABLES.names) | compose_variables()


def test_example_env_shows_the_defaults_of_the_settings() -> None:
    shown = {name: value for name, (value, commented) in example_variables().items() if commented}
    defaults = {name: value for name, value in settings.VARIABLES.names.items() if name in shown}
    for name in DEPENDS_ON_THE_MACHINE:
        shown.pop(name, None)
        defaults.pop(name, None)
    assert {name: shown[name] for name in defaults} == defaults


def test_example_env_marks_exactly_the_secrets() -> None:
    """A mark stands on the lines of comment right above, as that of its block or of the variable alone."""
    marked = set()
    for block in (ROOT / "example.env").read_text().split("\n\n"):
        is_marked = False
        for line in block.splitlines():
            variable = re.match(r"(?:# )?([A-Z][A-Z0-9_]*)=", line)
            if variable is None:
                is_marked = is_marked or line.startswith("# (secret)")
            else:
                marked |= {variable[1]} if is_marked else set()
                is_marked = False
    assert marked == settings.VARIABLES.secrets


def test_example_env_begins_every_block_of_variables_with_a_sentence() -> None:
    blocks = (ROOT / "example.env").read_text().split("\n\n")
    with_variables = [block for block in blocks if re.search(r"^(# )?[A-Z][A-Z0-9_]*=", block, re.MULTILINE)]
    unexplained = [block for block in with_variables if not re.match(r"# [^=]+[ :]", block)]
    assert unexplained == []


def test_compose_runs_one_worker_for_every_queue() -> None:
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    queues = {
        service["environment"]["Q_CLUSTER_NAME"] for name, service in services.items() if name.startswith("worker-")
    }
    assert queues == set(settings.QUEUES)


def test_compose_opens_no_port_but_that_of_nginx() -> None:
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["nginx"]


def test_compose_gives_the_engine_only_to_the_workers_that_start_containers() -> None:
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    with_engine = {name for name, service in services.items() if "docker.sock" in str(service.get("volumes"))}
    assert with_engine == {"worker-build", "worker-duel"}


def test_nginx_lets_uploads_of_the_allowed_size_through() -> None:
    found = re.search(r"client_max_body_size (\d+)m;", (ROOT / "nginx/default.conf").read_text())
    assert found is not None
    assert int(found[1]) * 1024 * 1024 > settings.MAX_UPLOAD_BYTES


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_relative_links_of_documents_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text())
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert missing == []


# A changelog tells of the past: of commands that are gone, too.
@pytest.mark.parametrize(
    "document", [path for path in documents() if path.name != "CHANGELOG.md"], ids=lambda path: path.name
)
def test_commands_in_documents_exist(document: Path) -> None:
    text = document.read_text()
    assert set(re.findall(r"manage\.py ([a-z_]+)", text)) <= set(get_commands())
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", text)) <= targets


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[><=\[ ]", name)[0] for name in wanted}
    text = (ROOT / "docs/architecture.md").read_text()
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_lock_files_carry_hashes_and_no_addresses(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    pinned = re.findall(r"^[a-z0-9][^\n]*==[^\n]*$", text, re.MULTILINE)
    assert pinned
    assert all(line.endswith("\\") for line in pinned)


def test_no_tracked_file_is_a_secret_or_belongs_to_one_machine() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode != 0:
        # An unpacked release has no repository: then there is nothing that could be committed by mistake.
        assert not (ROOT / ".git").exists()
        return
    names = tracked.stdout.split()
    assert ".env" not in names
    assert [name for name in names if name.startswith("data/")] == ["data/.gitignore"]
