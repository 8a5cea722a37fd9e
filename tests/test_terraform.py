"""The Terraform modules, read by a parser of HCL: what refers to what, and who may reach the hosts.

`terraform validate` takes the providers, which are not here; `make check` formats the files where Terraform is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hcl2
import pytest

ROOT = Path(__file__).resolve().parent.parent
TERRAFORM = ROOT / "terraform"
PROVIDERS = {"digitalocean": "digitalocean", "hetzner": "hcloud"}
"""Modules, with the beginning of the names of what their providers make."""
WORLD, FROM_SSH, INSIDE = ("0.0.0.0/0", "::/0"), "${var.ssh_from}", ("${var.network}",)
OPEN = {
    "digitalocean": {
        "site": {"22": FROM_SSH, "80": WORLD, "443": WORLD, "5432": INSIDE, "6379": INSIDE, "5000": INSIDE},
        "worker": {"22": FROM_SSH},
    },
    # Its firewall filters the public network only, and its hosts of workers are not made by a scaler.
    "hetzner": {"site": {"22": FROM_SSH, "80": WORLD, "443": WORLD}},
}
"""Who may reach which port, by firewall."""


def plain(value: Any) -> Any:
    """Leave the parser's own keys and quotes away."""
    if isinstance(value, dict):
        return {key.strip('"'): plain(inner) for key, inner in value.items() if not key.startswith("__")}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value.strip('"') if isinstance(value, str) else value


@cache
def content(module: str) -> dict[str, list[Any]]:
    """The blocks of all files of a module, by kind."""
    found: dict[str, list[Any]] = {}
    for path in sorted((TERRAFORM / module).glob("*.tf")):
        with path.open() as file:
            for kind, blocks in plain(hcl2.load(file)).items():
                found.setdefault(kind, []).extend(blocks)
    return found


def labelled(module: str, kind: str) -> dict[str, Any]:
    return {name: block for one in content(module)[kind] for name, block in one.items()}


def resources(module: str) -> dict[tuple[str, str], Any]:
    return {
        (kind, name): block
        for one in content(module)["resource"]
        for kind, blocks in one.items()
        for name, block in blocks.items()
    }


def texts(value: Any) -> Iterator[str]:
    """All strings of a structure."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("module", PROVIDERS)
def test_everything_that_a_module_refers_to_is_there_and_every_variable_is_used(module: str) -> None:
    outside = {kind: blocks for kind, blocks in content(module).items() if kind != "variable"}
    said = "\n".join(texts(outside))
    assert set(re.findall(r"\bvar\.(\w+)", said)) == labelled(module, "variable").keys()
    assert set(re.findall(r"\blocal\.(\w+)", said)) == {name for one in content(module)["locals"] for name in one}
    made = set(re.findall(rf"\b({PROVIDERS[module]}_\w+)\.(\w+)", said))
    assert made
    assert made <= resources(module).keys()
    assert all(kind.startswith(f"{PROVIDERS[module]}_") for kind, _ in resources(module))


def test_modules_have_the_same_interface() -> None:
    one, other = (labelled(module, "variable") for module in PROVIDERS)
    assert {name: block["type"] for name, block in one.items()} == {
        name: block["type"] for name, block in other.items()
    }
    for block in (*one.values(), *other.values()):
        assert block["description"]
    for variables in (one, other):
        assert variables["worker_environment"]["sensitive"] is True
        for name in ("name", "domain", "release", "ssh_keys", "ssh_from", "network"):
            assert variables[name]["validation"][0]["error_message"], name
            assert f"var.{name}" in variables[name]["validation"][0]["condition"]
    names = {"address", "private_address", "scaling", "worker_user_data"}
    for module in PROVIDERS:
        assert labelled(module, "output").keys() == names
        assert labelled(module, "output")["worker_user_data"]["sensitive"] is True


@pytest.mark.parametrize("module", PROVIDERS)
def test_firewalls_let_in_no_more_than_they_must(module: str) -> None:
    found: dict[str, dict[str, Any]] = {}
    for (kind, name), block in resources(module).items():
        if kind.endswith("_firewall"):
            rules = [
                rule for rule in block.get("inbound_rule", block.get("rule", ())) if rule.get("direction") != "out"
            ]
            found[name] = {}
            for rule in rules:
                assert rule["protocol"] == "tcp"
                source = rule.get("source_addresses", rule.get("source_ips"))
                port = rule.get("port_range", rule.get("port"))
                assert port not in found[name]
                found[name][port] = tuple(source) if isinstance(source, list) else source
    assert found == OPEN[module]


@pytest.mark.parametrize("module", PROVIDERS)
def test_the_host_with_the_database_is_not_destroyed_and_no_secret_is_in_a_file(module: str) -> None:
    (site,) = (block for (kind, _), block in resources(module).items() if kind.endswith(("_droplet", "_server")))
    assert site["lifecycle"][0]["prevent_destroy"] is True
    assert {"user_data", "image"} <= set(site["lifecycle"][0]["ignore_changes"])
    assert site["backups"] is True
    text = "".join(path.read_text() for path in sorted((TERRAFORM / module).iterdir()) if path.is_file())
    assert not re.search(r'(?i)\w*(token|password|secret)\w*\s*=\s*"', text)
    example = (TERRAFORM / module / "secrets.tfvars.example").read_text()
    assert set(re.findall(r"^(\w+)", example, re.MULTILINE)) <= labelled(module, "variable").keys()
    wanted = {name for name, block in labelled(module, "variable").items() if "default" not in block}
    assert wanted <= set(re.findall(r"^(\w+)", example, re.MULTILINE))
    (terraform,) = content(module)["terraform"]
    for provider in terraform["required_providers"][0].values():
        assert "~>" in str(provider)


@pytest.mark.parametrize("module", PROVIDERS)
@pytest.mark.parametrize("name", ["site", "worker"])
def test_files_of_cloud_init_get_what_is_in_braces_in_them(module: str, name: str) -> None:
    file = ROOT / "deploy" / "cloud-init" / f"{name}.yml"
    said = "\n".join(texts(content(module)))
    found = re.search(rf'templatefile\("([^"]*cloud-init/{name}\.yml)", \{{(.*?)\}}\)', said)
    assert found is not None
    path = Path(found[1].replace("${path.module}", str(TERRAFORM / module)))
    assert path.resolve() == file
    wanted = set(re.findall(r"\$\{(\w+)\}", file.read_text()))
    assert set(re.findall(r"(\w+)\s*=", found[2])) == wanted
