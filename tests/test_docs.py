"""What the documents say is what the code does: variables, commands, paths, links, lock files."""

from __future__ import annotations

import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import get_commands
from django.urls import Resolver404, resolve

from arena_kit.cli.main import VERBS
from tests.hostile.cases import read_cases

ROOT = Path(__file__).resolve().parent.parent
COMPOSE = ROOT / "docker-compose.yml"
DEPENDS_ON_THE_MACHINE = {"DATA_DIR", "DATABASE_URL", "DUEL_PARALLELISM"}
"""Variables whose default is computed: the example shows one that could be."""
MAX_PAGE_BYTES = 15_000
MAX_PAGE_WORDS, MAX_WORDS = 2_000, 65_000
"""Words of one page, and of all pages in docs/, as `wc -w` counts them."""
LOOKED_UP = ROOT / "docs" / "reference" / "asvs.md"
"""A table of 204 lines, each with the name of its test: it is looked up and not read, so it may be long."""
MADE_BY_PEOPLE_OR_PROGRAMS = {"image.txt", "environment.yml", "weights.json"} | {
    "manifest.json", "duel.json", "episode.json", "text.json", "tasks.json", "compose.yml", "rollout.json",
    "changes.json",
}  # fmt: skip
"""Names of files in archives and backups, which are not in the repository."""


def example_variables() -> dict[str, tuple[str, bool]]:
    """Name to (value, is commented out) of example.env."""
    lines = (ROOT / "example.env").read_text().splitlines()
    found = (re.fullmatch(r"(# )?([A-Z][A-Z0-9_]*)=(.*)", line) for line in lines)
    return {match[2]: (match[3], match[1] is not None) for match in found if match}


def compose_variables() -> set[str]:
    text = "".join(path.read_text() for path in COMPOSE.parent.glob("docker-compose*.yml"))
    return set(re.findall(r"\$\{([A-Z0-9_]+)", text))


def pages() -> list[Path]:
    """The documents that describe the arena as it is; the changelog tells of the past."""
    return [ROOT / "README.md", ROOT / "example_players" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def without_fences(text: str) -> str:
    """A document without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def spans(text: str) -> list[str]:
    """What stands in backticks outside of blocks of code."""
    return re.findall(r"`([^`\n]+)`", without_fences(text))


def anchors(text: str) -> set[str]:
    """The anchors that a page gets for its headings, as git hosts make them."""
    headings = re.findall(r"^#+ (.*)$", without_fences(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@cache
def tracked() -> list[str]:
    """The names of all files of the repository; of an unpacked release, which has none, what lies in its folder."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout.split()
    return [
        relative(path) for path in ROOT.rglob("*") if ".venv" not in path.parts and "node_modules" not in path.parts
    ]


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


def test_the_table_of_variables_names_each_of_them_once() -> None:
    page = (ROOT / "docs" / "operator" / "configure.md").read_text()
    table = page.partition("## The variables by topic")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"`([A-Z][A-Z0-9_]*)`", table)) == sorted(example_variables())


def test_nginx_lets_uploads_of_the_allowed_size_through() -> None:
    found = re.search(r"client_max_body_size (\d+)m;", (ROOT / "nginx/default.conf").read_text())
    assert found is not None
    assert int(found[1]) * 1024 * 1024 > settings.MAX_UPLOAD_BYTES


@pytest.mark.parametrize("document", pages(), ids=relative)
def test_relative_links_of_documents_lead_somewhere(document: Path) -> None:
    text = document.read_text()
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_fences(text)):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            lost.append(link)
    assert lost == []


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    named = {(index.parent / link).resolve() for link in re.findall(r"\]\(([^)#]+)", index.read_text())}
    assert {relative(page) for page in (ROOT / "docs").rglob("*.md") if page != index} == {
        relative(page) for page in named
    }


@pytest.mark.parametrize("page", [page for page in pages() if page != LOOKED_UP], ids=relative)
def test_no_page_is_longer_than_can_be_read_at_once(page: Path) -> None:
    assert len(page.read_bytes()) <= MAX_PAGE_BYTES


def words_of_docs() -> dict[str, int]:
    return {
        relative(page): len(page.read_text().split()) for page in (ROOT / "docs").rglob("*.md") if page != LOOKED_UP
    }


def test_no_page_of_the_documentation_has_more_than_two_thousand_words() -> None:
    assert {page: count for page, count in words_of_docs().items() if count > MAX_PAGE_WORDS} == {}


def test_the_documentation_is_no_book() -> None:
    """One place for each fact, links from the others: what is added takes something out."""
    counts = words_of_docs()
    assert len(counts) > 50
    assert sum(counts.values()) <= MAX_WORDS


@pytest.mark.parametrize("page", pages(), ids=relative)
def test_pages_speak_of_people_and_things_by_their_names(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", without_fences(page.read_text()))
    assert re.findall(r"\b(?:nobody|whoever|somebody|(?:is|are) none)\b", text, re.IGNORECASE) == []


@cache
def places() -> tuple[set[str], set[str], set[str], set[str]]:
    """The files of the repository, its folders, what stands at its top, and the bare names of its files."""
    files = set(tracked())
    folders = {parent.as_posix() for name in files for parent in Path(name).parents}
    return files, folders, {name.partition("/")[0] for name in files}, {Path(name).name for name in files}


@pytest.mark.parametrize("page", pages(), ids=relative)
def test_files_that_pages_name_exist(page: Path) -> None:
    files, folders, top, names = places()
    missing = []
    for span in spans(page.read_text()):
        path = span.rstrip("/")
        first, has_folder, _ = path.partition("/")
        if re.search(r"[^\w./-]", path) or first == "data" or re.search(r"/[A-Z]{2,}\b(?!\.)", path):
            continue  # a sentence, a file that the arena makes, or an address of the API with a placeholder
        if has_folder and first in top:
            missing += [span] if path not in files and path not in folders else []
        elif not has_folder and re.fullmatch(r"[\w.-]+\.(?:py|md|sh|yml|yaml|toml|json|env|conf|txt)", path):
            missing += [span] if path not in names | MADE_BY_PEOPLE_OR_PROGRAMS else []
    assert missing == []


def test_documents_that_code_names_exist() -> None:
    suffixes = {".py", ".html", ".txt", ".yml", ".yaml", ".env", ".toml", ".sh", ".conf", ".md", ""}
    files = [name for name in tracked() if Path(name).suffix in suffixes and name != "CHANGELOG.md"]
    named = {
        (name, document)
        for name in files
        if (ROOT / name).is_file()
        for document in re.findall(r"\bdocs/[\w/-]+\.md\b", (ROOT / name).read_text(errors="ignore"))
    }
    assert sorted((name, document) for name, document in named if not (ROOT / document).is_file()) == []


@pytest.mark.parametrize("page", pages(), ids=relative)
def test_modules_that_pages_name_exist(page: Path) -> None:
    text = page.read_text()
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    named = {span for span in spans(text) if re.fullmatch(r"\w+(?:\.\w+)+", span)}
    run = set(re.findall(r"python -m ([\w.]+)", text))
    assert [name for name in sorted(named | run) if name.partition(".")[0] in packages and not is_code(name)] == []


def is_code(name: str) -> bool:
    """Return whether a dotted name is a module of the repository, or a name that stands in one."""
    path = ROOT
    for number, part in enumerate(parts := name.split(".")):
        if (path / f"{part}.py").is_file():
            text = (path / f"{part}.py").read_text()
            return all(re.search(rf"\b{rest}\b", text) for rest in parts[number + 1 :])
        path /= part
    return path.is_dir()


@pytest.mark.parametrize("page", pages(), ids=relative)
def test_commands_in_documents_exist(page: Path) -> None:
    text = page.read_text()
    assert set(re.findall(r"manage\.py ([a-z_]+)", text)) <= set(get_commands())
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)) <= targets
    assert set(re.findall(r"(?:`arena|^arena|python -m arena_kit) ([a-z]+)\b", text, re.MULTILINE)) <= set(VERBS)


def test_the_page_of_the_command_lists_every_verb() -> None:
    text = (ROOT / "docs" / "reference" / "arena-command.md").read_text()
    assert re.findall(r"^\| `arena ([a-z]+)` \|", text, re.MULTILINE) == list(VERBS)


def rows_without_counterpart() -> list[str]:
    """The left cells of the tables about older systems whose right cell says that nothing corresponds."""
    text = "".join(path.read_text() for path in (ROOT / "docs" / "operator").glob("coming-from*.md"))
    return re.findall(r"^\| (.+?) \| none\b", text, re.MULTILINE)


def test_what_an_older_system_had_and_the_arena_has_is_not_called_none() -> None:
    rows = rows_without_counterpart()
    addresses = {span for row in rows for span in re.findall(r"`(/[^`]+)`", row) if "/api/" in span}
    assert {address for address in addresses if is_served(address)} == set()
    names = {span.strip("` ") for row in rows for span in row.split(",")}
    assert {name for name in names if name.isidentifier() and (ROOT / name).exists()} == set()
    assert len(rows) > 10
    assert addresses


def is_served(address: str) -> bool:
    """Return whether an address has a view of its own; what no other one takes ends in a refusal."""
    try:
        return not resolve(address).view_name.endswith("not_found")
    except Resolver404:
        return False


def test_people_from_older_systems_find_the_pages_about_what_these_had() -> None:
    text = "".join(path.read_text() for path in (ROOT / "docs" / "operator").glob("coming-from*.md"))
    had = {"scaling", "tls", "object-store", "publishing", "several-hosts", "monitor", "kubernetes", "executor"}
    assert had - set(re.findall(r"\]\(([a-z-]+)\.md", text)) == set()


def test_no_page_installs_arena_kit_from_an_index_that_may_hold_another_one() -> None:
    named = re.compile(r"pip install ['\"]?arena-kit(?![\w,\[\]]* @)")
    assert {relative(path) for path in pages() if named.search(path.read_text())} == set()


def test_pages_know_how_many_hostile_cases_there_are() -> None:
    for page in (ROOT / "README.md", ROOT / "docs" / "contributor" / "tests.md"):
        told = re.findall(r"(\d+) (?:hostile )?archives, players", page.read_text())
        assert told == [str(len(read_cases()))], page


def test_no_page_asks_for_the_source_to_play_at_home() -> None:
    """Participants install arena-kit from the site. Operators do need the source."""
    read = [path for path in pages() if path.parent.name != "operator"]
    shown = [*read, *(ROOT / "web" / "templates").rglob("*.*"), *(ROOT / "core" / "templates").rglob("*.*")]
    source = re.compile(
        r"\bclone\b|\b(?:in|from) a checkout\b|get the arena's code|\.venv/bin/python -m (?:arena_kit|duel_runner)",
        re.IGNORECASE,
    )
    texts = {relative(path): re.sub(r"`clone[^`]*`", "", path.read_text()) for path in shown}
    assert {name: source.findall(text) for name, text in texts.items() if source.search(text)} == {}


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = (name for group in project["optional-dependencies"].values() for name in group)
    names = {re.split(r"[><=\[ ]", name)[0] for name in (*project["dependencies"], *extras)} - {project["name"]}
    text = (ROOT / "docs/contributor/dependencies.md").read_text()
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_the_lock_carries_hashes_and_no_addresses() -> None:
    text = (ROOT / "requirements.txt").read_text()
    assert "://" not in text
    pinned = re.findall(r"^[a-z0-9][^\n]*==[^\n]*$", text, re.MULTILINE)
    assert pinned
    assert all(line.endswith("\\") for line in pinned)


def test_no_tracked_file_is_a_secret_or_belongs_to_one_machine() -> None:
    if not (ROOT / ".git").exists():
        return  # an unpacked release has no repository: nothing could be committed by mistake
    names = tracked()
    assert ".env" not in names
    assert [name for name in names if name.startswith("data/")] == ["data/.gitignore"]
