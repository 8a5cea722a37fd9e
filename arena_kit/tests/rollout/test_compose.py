"""compose.yml of packages: what is read, what is refused and with which sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.rollout.packages.compose import REFUSED, Caps, Service
from arena_kit.rollout.packages.services import compose_read
from arena_kit.rollout.values.strict_json import Flaw
from arena_kit.rollout.worlds.world import PAUSE
from arena_kit.tests.rollout.values import VALUES

SHOP = """
services:
  web:
    image: base:python
    files: services/web
    requirements: services/web/requirements.txt
    command: [python, -m, shop, --port, 8000]
    environment: {DATABASE: postgresql://shop@db/shop, WORKERS: 2}
    expose: [8000]
    depends_on: [db]
    healthcheck: {test: [CMD, python, -m, shop.ready], interval: 500ms, retries: 20, start_period: 1m}
    user: 1000:1000
    working_dir: /srv/web
    tmpfs: ["/tmp:size=64m", /run]
    mem_limit: 256m
    cpus: 0.5
    pids_limit: 64
    read_only: true
  db:
    image: base:postgres
    expose: ["5432"]
"""


def read(text: str, **caps: Any) -> tuple[tuple[Service, ...], list[Flaw]]:
    found: list[Flaw] = []
    return compose_read(text, Caps(**caps), found), found


def refused(**keys: Any) -> list[tuple[str, str]]:
    """What is wrong with a service of these keys."""
    service = {"image": "base:python", **keys}
    _, found = read(yaml.safe_dump({"services": {"web": service}}))
    return [(flaw.code, flaw.path.removeprefix("compose.yml.services.web")) for flaw in found]


def test_a_package_with_two_services_is_read_in_the_order_of_their_start() -> None:
    (db, web), found = read(SHOP)
    assert found == []
    assert (db.name, db.ports, web.name, web.after) == ("db", (5432,), "web", ("db",))
    assert web.command == ("python", "-m", "shop", "--port", "8000")
    assert web.environment == {"DATABASE": "postgresql://shop@db/shop", "WORKERS": "2"}
    assert web.tmpfs == {"/tmp": 64 << 20, "/run": 64 << 20}
    assert (web.memory_bytes, web.cpu_count, web.pids, web.read_only) == (256 << 20, 0.5, 64, True)
    assert web.health.test == ("python", "-m", "shop.ready")
    assert (web.health.interval_seconds, web.health.start_seconds) == (0.5, 60.0)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_a_world_cannot_have_is_refused_with_a_sentence(name: str) -> None:
    assert refused(**{name: ["x"]}) == [("refused_key", f".{name}")]
    assert REFUSED[name].endswith(".")


@pytest.mark.parametrize(
    ("keys", "code", "path"),
    [
        ({"image": "postgres:16"}, "unknown_image", ".image"),
        ({"image": None}, "bad_value", ".image"),
        ({"command": "sh -c 'x'"}, "bad_value", ".command"),
        ({"entrypoint": [True]}, "bad_value", ".entrypoint"),
        ({"environment": ["A=b"]}, "bad_value", ".environment"),
        ({"environment": {"A": "${SECRET}"}}, "bad_value", ".environment"),
        ({"environment": {"A B": "x"}}, "bad_value", ".environment"),
        ({"environment": {"A": True}}, "bad_value", ".environment"),
        ({"expose": [0]}, "bad_value", ".expose"),
        ({"expose": ["8000:80"]}, "bad_value", ".expose"),
        ({"expose": 8000}, "bad_value", ".expose"),
        ({"files": "../outside"}, "bad_value", ".files"),
        ({"files": "/etc"}, "bad_value", ".files"),
        ({"requirements": "a//b"}, "bad_value", ".requirements"),
        ({"depends_on": ["lost"]}, "unknown_service", ".depends_on"),
        ({"depends_on": {"web": {"condition": "service_started"}}}, "bad_value", ".depends_on"),
        ({"healthcheck": {"test": "curl x"}}, "bad_value", ".healthcheck.test"),
        ({"healthcheck": {"interval": "1h"}}, "bad_value", ".healthcheck.interval"),
        ({"healthcheck": {"disable": True}}, "unknown_key", ".healthcheck.disable"),
        ({"user": "root; rm"}, "bad_value", ".user"),
        ({"working_dir": "/a/../b"}, "bad_value", ".working_dir"),
        ({"tmpfs": ["/"]}, "bad_value", ".tmpfs"),
        ({"tmpfs": ["/tmp:size=9999g"]}, "bad_value", ".tmpfs"),
        ({"tmpfs": ["/tmp:exec"]}, "bad_value", ".tmpfs"),
        ({"mem_limit": "5g"}, "bad_value", ".mem_limit"),
        ({"mem_limit": 0}, "bad_value", ".mem_limit"),
        ({"cpus": 64}, "bad_value", ".cpus"),
        ({"pids_limit": -1}, "bad_value", ".pids_limit"),
        ({"mem_limit": "4m"}, "bad_value", ".mem_limit"),
        ({"healthcheck": {"test": ["NONE"]}}, "bad_value", ".healthcheck.test"),
        ({"healthcheck": {"test": ["CMD-SHELL"]}}, "bad_value", ".healthcheck.test"),
        ({"tmpfs": ["//proc/x:size=1m"]}, "bad_value", ".tmpfs"),
        ({"restart": "always"}, "unknown_key", ".restart"),
    ],
)
def test_wrong_values_are_named(keys: dict[str, Any], code: str, path: str) -> None:
    assert refused(**keys) == [(code, path)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad_yaml"),
        ("services: [", "bad_yaml"),
        ("a: &x 1\nb: *x\n", "bad_yaml"),
        ("services: !!python/object:os.system x", "bad_yaml"),
        ("services: {web: {image: base:python, image: base:node}}", "repeated_key"),
        ("services: {web: {image: base:python, 5: x}}", "bad_yaml"),
        ("services: {web: {image: 2026-01-01}}", "bad_yaml"),
        ("services: {}", "bad_services"),
        (f"services: {{web: {{image: base:python, mem_limit: 0x{'F' * 5_000}}}}}", "bad_number"),
        (f"services: {{web: {{image: base:python, 0x{'F' * 5_000}: 1}}}}", "bad_yaml"),
        ("services: {web-: {image: base:python}}", "bad_name"),
        (f"services: {{{PAUSE}: {{image: base:python}}}}", "bad_name"),
        ("services: {Web: {image: base:python}}", "bad_name"),
        ("services: {web: base:python}", "bad_value"),
        ("services: {web: {image: base:python}}\nvolumes: {data: {}}", "refused_key"),
        ("services: {a: {image: base:python, expose: [80]}, b: {image: base:node, expose: [80]}}", "same_port"),
        ("services: {a: {image: base:python, depends_on: [b]}, b: {image: base:node, depends_on: [a]}}", "circle"),
        ("services: {a: {image: base:python, depends_on: [a]}}", "circle"),
        (f"services: {{{', '.join(f's{n}: {{image: base:redis}}' for n in range(9))}}}", "bad_services"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(text: str, code: str) -> None:
    _, found = read(text)
    assert code in [flaw.code for flaw in found]


def test_organisers_allow_further_images() -> None:
    (service,), found = read("services: {bi: {image: 'metabase/metabase:v0.50'}}", images=["metabase/metabase:v0.50"])
    assert (service.image, found) == ("metabase/metabase:v0.50", [])


def test_the_recipe_for_metabase_can_be_read() -> None:
    page = (Path(settings.BASE_DIR) / "docs" / "reference" / "packages.md").read_text(encoding="utf-8")
    recipe = page.partition("**Metabase**")[2].partition("```yaml\n")[2].partition("```")[0]
    services, found = read(recipe, images=["metabase/metabase"])
    assert (services[1].image, services[1].user, services[1].ports, found) == (
        "metabase/metabase", "2000:2000", (3000,), []
    )  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from([*Service.__dataclass_fields__, "expose", "healthcheck", "cpus"]), VALUES, max_size=4
    )
)
def test_any_value_of_any_key_is_read_or_named(keys: dict[str, Any]) -> None:
    text = yaml.safe_dump({"services": {"web": {"image": "base:python", **keys}}}, allow_unicode=True)
    services, found = read(text)
    assert services or found
