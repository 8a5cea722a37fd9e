"""Packages: the zip, environment.yml, and tasks that fit them."""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import zipfile
from typing import Any

import pytest
import yaml

from arena_kit.rollout.packages.package import Package, PackageRefused, SiteLimits, package_read
from arena_kit.rollout.tasks.task import RolloutLimits
from arena_kit.tests.rollout.test_compose import SHOP

MANIFEST: dict[str, Any] = {
    "slug": "shop", "name": "Shop", "description": "A small shop.", "origins": ["http://web:8000"], "seeds": True,
    "logins": {"clerk": {"url": "/login", "fields": {"label=Name": "clerk", "label=Password": "x"}, "done": "/"}},
    "exports": [{"service": "db", "command": ["arena-export", "shop"], "files": "/export"}],
    "hooks": {"seed": {"service": "web", "command": ["python", "-m", "shop.seed"]}},
    "volatile": {"audit": ["at"], "run.log": ["*"]}, "clock": "2026-01-15T09:00Z", "limits": {"steps": 30},
}  # fmt: skip
TASK = {"id": "a", "task": "Do it.", "login": "clerk", "start_url": "http://web:8000/orders"}


def files(**changes: str | bytes | None) -> dict[str, str | bytes]:
    """The files of a good package; changes: contents by name with __ for a slash and _ for a dot, None for no file."""
    found: dict[str, str | bytes | None] = {
        "environment.yml": yaml.safe_dump(MANIFEST), "compose.yml": SHOP, "tasks.json": json.dumps([TASK]),
        "services/web/shop.py": "print()", "services/web/requirements.txt": "flask==3.1.0\n", "seed/a.csv": "a\n1\n",
    }  # fmt: skip
    found |= {name.replace("__", "/").replace("_", "."): content for name, content in changes.items()}
    return {name: content for name, content in found.items() if content is not None}


def read(**changes: str | bytes | None) -> Package:
    return package_read(packed(files(**changes)))


def packed(contents: dict[str, str | bytes]) -> io.BytesIO:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return data


def codes(**changes: str | bytes | None) -> list[tuple[str, str]]:
    with pytest.raises(PackageRefused) as caught:
        read(**changes)
    assert str(caught.value)
    return [(flaw.code, flaw.path) for flaw in caught.value.flaws]


def manifest(**keys: Any) -> str:
    """environment.yml with other keys; None leaves one out."""
    return yaml.safe_dump({name: value for name, value in {**MANIFEST, **keys}.items() if value is not None})


def test_a_good_package_is_read() -> None:
    package = read()
    assert [service.name for service in package.services] == ["db", "web"]
    assert package.manifest.home == "http://web:8000/"
    assert package.manifest.memory_bytes == (256 + 512) << 20
    assert package.manifest.limits == RolloutLimits(steps=30)
    assert package.manifest.logins[0].fields == {"label=Name": "clerk", "label=Password": "x"}
    assert package.manifest.exports[0].command == ("arena-export", "shop")
    assert package.manifest.hooks["seed"].service == "web"
    assert package.manifest.clock == datetime.datetime(2026, 1, 15, 9, tzinfo=datetime.UTC)
    assert [task.environment for task in package.tasks.tasks] == ["shop"]


def test_a_package_is_named_by_the_hash_of_its_zip() -> None:
    data = packed(files())
    assert package_read(data).sha256 == hashlib.sha256(data.getvalue()).hexdigest()


def test_tasks_are_optional() -> None:
    assert read(tasks_json=None).tasks.tasks == ()


@pytest.mark.parametrize(
    ("keys", "code", "path"),
    [
        ({"slug": "Shop"}, "bad_value", ".slug"),
        ({"slug": "shop-"}, "bad_value", ".slug"),
        ({"name": None}, "missing_key", ""),
        ({"origins": None}, "missing_key", ""),
        ({"origins": ["https://web:8000"]}, "bad_value", ".origins"),
        ({"origins": ["http://web:8000", "http://web:9"]}, "bad_value", ".origins"),
        ({"origins": ["http://web:8000", "http://google.com"]}, "bad_value", ".origins"),
        ({"home": "http://db:5432/"}, "bad_value", ".home"),
        ({"memory": "1m"}, "bad_value", ".memory"),
        ({"memory": "9g"}, "bad_value", ".memory"),
        ({"logins": {"clerk": {"url": "http://x/", "fields": {"a": "b"}}}}, "bad_value", ".logins.clerk.url"),
        ({"logins": {"clerk": {"url": "/", "fields": {"a": True}}}}, "bad_value", ".logins.clerk.fields"),
        ({"logins": {"clerk": {"url": "/", "fields": {}}}}, "bad_value", ".logins.clerk.fields"),
        ({"exports": [{"service": "cache", "files": "/x"}]}, "bad_value", ".exports[0].service"),
        ({"exports": [{"service": "db", "files": "/a/../b"}]}, "bad_value", ".exports[0].files"),
        ({"exports": [{"service": "db", "files": "/a", "format": "xml"}]}, "bad_value", ".exports[0].format"),
        ({"hooks": {"seed": {"service": "db"}}}, "bad_value", ".hooks.seed"),
        ({"hooks": {"stop": {}}}, "unknown_key", ".hooks.stop"),
        ({"volatile": {"audit": 5}}, "bad_value", ".volatile.audit"),
        ({"limits": {"steps": 5_000}}, "bad_value", ".limits.steps"),
        ({"clock": "noon"}, "bad_value", ".clock"),
        ({"seed": 1}, "unknown_key", ".seed"),
    ],
)
def test_what_is_wrong_with_a_manifest_is_named(keys: dict[str, Any], code: str, path: str) -> None:
    assert (code, f"environment.yml{path}") in codes(environment_yml=manifest(**keys))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"environment_yml": None}, "missing_file"),
        ({"compose_yml": None}, "missing_file"),
        ({"Dockerfile": "FROM x"}, "unknown_file"),
        ({"services__web__shop_py": None, "services__web__requirements_txt": None}, "missing_file"),
        ({"services__web__requirements_txt": "git+https://x/y"}, "requirements_line"),
        ({"compose_yml": "services: {web: {image: base:python, ports: ['80:80']}}"}, "refused_key"),
        ({"tasks_json": "{"}, "invalid_json"),
        ({"tasks_json": json.dumps([{**TASK, "login": "boss"}])}, "bad_value"),
        ({"tasks_json": json.dumps([{**TASK, "start_url": "http://other/"}])}, "bad_value"),
        ({"environment_yml": b"\xff"}, "not_utf8"),
    ],
)
def test_a_package_that_cannot_work_is_refused(changes: dict[str, Any], code: str) -> None:
    assert code in [found for found, _ in codes(**changes)]


@pytest.mark.parametrize("name", ["../x", "/x", "services/../../x", "services\\..\\..\\b"])
def test_hostile_names_are_refused(name: str) -> None:
    with pytest.raises(PackageRefused):
        package_read(packed({**files(), name: "x"}))


def test_links_and_bombs_are_refused() -> None:
    data = packed(files())
    with zipfile.ZipFile(data, "a", zipfile.ZIP_DEFLATED) as archive:
        link = zipfile.ZipInfo("seed/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(PackageRefused) as caught:
        package_read(data)
    assert caught.value.code == "not_a_file"
    data = packed(files())
    with zipfile.ZipFile(data, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("seed/zeros", bytes(130 << 20), compresslevel=1)
    with pytest.raises(PackageRefused) as caught:
        package_read(data)
    assert caught.value.code == "compression_ratio"


def test_what_is_no_zip_is_refused() -> None:
    with pytest.raises(PackageRefused) as caught:
        package_read(io.BytesIO(b"not a zip"))
    assert caught.value.code == "not_a_zip"
    assert "compose.yml" in str(caught.value)


def test_a_world_larger_than_the_site_is_refused() -> None:
    with pytest.raises(PackageRefused, match="A world has at most 512m here"):
        package_read(packed(files()), SiteLimits(memory_bytes=512 << 20))
