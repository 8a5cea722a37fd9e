"""The wheel that the site serves, its page and its index."""

from __future__ import annotations

import ast
import hashlib
import io
import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.test import Client

from arena_kit.schemas import schemas
from core.models import User
from web.kit.bundle import bundle_name
from web.kit.parts import wheel_path, wheel_served
from web.kit.views import JSON_KIND
from web.kit.wheel import wheel

GENERATED = ("WHEEL", "RECORD", "METADATA")


def about(text: str) -> tuple[set[str], dict[str, str]]:
    """Return the requirements and extras, and the other headers but the version of the format."""
    found: Message = message_from_string(text)
    many = {"Requires-Dist", "Provides-Extra"}
    return (
        {f"{name}: {value}".replace('"', "'") for name, value in found.items() if name in many},
        {name: value for name, value in found.items() if name not in many | {"Metadata-Version"}},
    )


def test_the_wheel_is_the_one_that_hatchling_builds(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=settings.BASE_DIR, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.whl")
    served = wheel_served()
    ours, theirs = zipfile.ZipFile(io.BytesIO(served.content)), zipfile.ZipFile(path)

    # Ours says in its version which content it is.
    plain, label = served.version.split("+")
    unlabelled = {name.replace(f"+{label}", ""): name for name in ours.namelist()}
    assert path.name == served.filename.replace(f"+{label}", "")
    assert sorted(unlabelled) == sorted(theirs.namelist())
    same = [name for name in theirs.namelist() if not name.endswith(GENERATED)]
    assert [name for name in same if ours.read(unlabelled[name]) != theirs.read(name)] == []
    metadata = next(name for name in theirs.namelist() if name.endswith("METADATA"))
    found, wanted = about(ours.read(unlabelled[metadata]).decode()), about(theirs.read(metadata).decode())
    assert found[0] == wanted[0]
    assert found[1] == {**wanted[1], "Version": f"{plain}+{label}"}


def test_no_module_of_the_wheel_imports_one_that_was_left_out() -> None:
    """Late imports count; what only a type checker imports does not."""
    archive = zipfile.ZipFile(io.BytesIO(wheel_served().content))
    inside = set(archive.namelist())
    found = []
    for name in sorted(one for one in inside if one.startswith("arena_kit/") and one.endswith(".py")):
        for module in imported(ast.parse(archive.read(name))):
            path = module.replace(".", "/")
            there = (settings.BASE_DIR / path).is_dir() or (settings.BASE_DIR / f"{path}.py").is_file()
            if there and not {f"{path}.py", f"{path}/__init__.py"} & inside:
                found.append((name, module))
    assert found == []


def imported(tree: ast.Module) -> set[str]:
    """Return the names of arena-kit's own modules that a module imports when it runs."""
    typed = {
        line
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for one in block.body
        for line in ast.walk(one)
    }
    return {
        module
        for line in ast.walk(tree)
        if isinstance(line, ast.ImportFrom) and line not in typed and (line.module or "").startswith("arena_kit")
        for module in (line.module or "", *(f"{line.module}.{alias.name}" for alias in line.names))
    }


def test_installers_replace_one_content_by_another(tmp_path: Path) -> None:
    """By pip, into a new environment: an older content is replaced, also where its label is the higher one."""
    root = tmp_path / "root"
    root.mkdir()
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(settings.BASE_DIR / name, root)
    for name in ("arena_kit", "environments", "example_players"):
        (root / name).mkdir()
    made = []
    for text in ("RULES = 1", "RULES = 2"):
        (root / "arena_kit" / "__init__.py").write_text(text)
        made.append(wheel.__wrapped__(root))
    assert made[0].version != made[1].version
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    python = str(tmp_path / "env" / "bin" / "python")
    for one in (made[0], made[1], made[0]):
        (tmp_path / one.filename).write_bytes(one.content)
        address = f"arena-kit @ file://{tmp_path / one.filename}"
        install = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", address]
        subprocess.run(install, check=True, capture_output=True)
        program = "import importlib.metadata as m; print(m.version('arena-kit'))"
        found = subprocess.run([python, "-c", program], check=True, capture_output=True, text=True)
        assert found.stdout.strip() == one.version


def test_the_record_of_the_wheel_fits_its_files() -> None:
    archive = zipfile.ZipFile(io.BytesIO(wheel_served().content))
    (record,) = (name for name in archive.namelist() if name.endswith("RECORD"))
    lines = [line.rsplit(",", 2) for line in archive.read(record).decode().splitlines()]
    assert {name for name, _, _ in lines} == set(archive.namelist())
    assert all(len(archive.read(name)) == int(size) for name, _, size in lines if size)


def test_the_page_names_commands_that_install_this_wheel(client: Client, db: None) -> None:
    page = client.get("/kit/").content.decode()
    served = wheel_served()
    assert f"arena-kit[docker,gymnasium,ranking] @ http://testserver/kit/{served.filename}" in page
    assert f"{served.filename}#sha256={served.sha256}" in page
    # pip refuses plain HTTP from another host.
    assert "--trusted-host testserver" in page
    assert "--trusted-host" not in client.get("/kit/", secure=True).content.decode()


@pytest.mark.parametrize("version", ["", "0.1.0", "0.1.0+k000000000000"], ids=["now", "in the quickstart", "older"])
def test_the_short_address_leads_to_the_wheel_which_never_changes(client: Client, db: None, version: str) -> None:
    served = wheel_served()
    response = client.get(f"/kit/arena_kit-{version or served.version}-py3-none-any.whl", follow=True)
    assert response.redirect_chain == [(wheel_path(served), 302)]
    assert hashlib.sha256(response.content).hexdigest() == served.sha256
    assert "immutable" in response["Cache-Control"]
    again = client.get(wheel_path(served), headers={"If-None-Match": response["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "address",
    [
        "/kit/other-1.0-py3-none-any.whl",
        "/kit/files/0000/arena_kit-0.1.0-py3-none-any.whl",
        "/kit/bundle.zip",
        "/kit/simple/a%2Fb/",
        "/kit/simple/..%5C/",
    ],
)
def test_nothing_else_is_served(client: Client, db: None, address: str) -> None:
    assert client.get(address).status_code == 404


def test_the_index_speaks_html_and_json(client: Client, db: None) -> None:
    served = wheel_served()
    page = client.get("/kit/simple/arena-kit/")
    assert f'{wheel_path(served)}#sha256={served.sha256}"' in page.content.decode()
    assert 'data-requires-python="&gt;=3.10"' in page.content.decode()
    assert "arena-kit/" in client.get("/kit/simple/").content.decode()
    # As pip asks.
    accepted = f"{JSON_KIND}, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01"
    answer = client.get("/kit/simple/arena-kit/", headers={"Accept": accepted})
    assert answer["Content-Type"] == JSON_KIND
    assert "Accept" in answer["Vary"]
    (file,) = answer.json()["files"]
    assert (file["filename"], file["hashes"]) == (served.filename, {"sha256": served.sha256})
    other = client.get("/kit/simple/Arena_Kit/")
    assert (other.status_code, other["Location"]) == (302, "/kit/simple/arena-kit/")


@pytest.mark.parametrize(
    ("browser", "first"), [("Mozilla/5.0 (Windows NT 10.0; Win64)", "Windows"), ("Mozilla/5.0 (X11; Linux)", "Linux")]
)
def test_the_visitors_system_comes_first(client: Client, db: None, browser: str, first: str) -> None:
    page = client.get("/kit/", headers={"User-Agent": browser}).content.decode()
    assert re.search(r'id="install">Install it</h2>\s*<p>(\w+)', page)[1] == first  # type: ignore[index]
    for line in (
        "Set-ExecutionPolicy",
        "Scripts\\Activate.ps1",
        "%pip install -q",
        "uv tool install",
        "conda activate arena",
    ):
        assert line in page


def test_other_packages_of_the_index_are_those_of_pypi(client: Client, db: None) -> None:
    answer = client.get("/kit/simple/NumPy/")
    assert (answer.status_code, answer["Location"]) == (302, "https://pypi.org/simple/numpy/")


def test_a_bundle_is_offered_when_there_is_one(client: Client, db: None) -> None:
    default_storage.delete(bundle_name(wheel_served()))
    assert "pip download -d arena-wheels" in client.get("/kit/").content.decode()
    default_storage.save(bundle_name(wheel_served()), ContentFile(b"PK"))
    assert 'href="/kit/bundle.zip"' in client.get("/kit/").content.decode()
    answer = client.get("/kit/bundle.zip")
    assert b"".join(answer.streaming_content) == b"PK"  # type: ignore[attr-defined]
    default_storage.delete(bundle_name(wheel_served()))


@pytest.mark.nightly
def test_the_bundle_installs_without_a_network(client: Client, db: None, tmp_path: Path) -> None:
    """With real packages, for this machine's own system and Python."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    call_command("kit_bundle", systems=["linux"], pythons=[own])
    answer = client.get("/kit/bundle.zip")
    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))  # type: ignore[attr-defined]
    default_storage.delete(bundle_name(wheel_served()))
    archive.extractall(tmp_path / "wheels")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    programs, wheels = tmp_path / "env" / "bin", str(tmp_path / "wheels")
    install = [str(programs / "python"), "-m", "pip", "install", "-q", "--no-index", "--find-links", wheels]
    subprocess.run([*install, "arena-kit[gymnasium,ranking]"], check=True, env={"PATH": "/usr/bin:/bin"})
    said = subprocess.run([programs / "arena", "--version"], check=True, capture_output=True, text=True).stdout
    assert said.startswith(f"arena-kit {wheel_served().version} (Python {own}")


def test_the_api_says_what_the_site_is(client: Client, db: None) -> None:
    answer = client.get("/api/v1/").json()
    assert (answer["service"], answer["api_versions"]) == ("rl-arena", ["v1"])
    assert answer["kit_url"].endswith(wheel_path(wheel_served()))
    assert answer["max_upload_bytes"] == settings.MAX_UPLOAD_BYTES
    assert User.objects.count() == 0  # it needs no account


@pytest.mark.parametrize("name", ["environment", "package", "tasks"])
def test_the_site_serves_the_schemas(client: Client, db: None, name: str) -> None:
    answer = client.get(f"/schemas/{name}.json")
    assert answer["Content-Type"] == "application/schema+json"
    assert answer.content.decode() == schemas()[name]
    assert client.get("/schemas/other.json").status_code == 404
