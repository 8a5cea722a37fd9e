"""The Terraform modules, read by a parser of HCL: what refers to what, and who may reach the hosts.

`terraform validate` takes the providers, which are not here. Where Terraform is, it reads the variables, and
`make check` looks at the format.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hcl2
import pytest

from core.files.buckets import bucket_of

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
        for name in (
            "name",
            "domain",
            "organiser_email",
            "release",
            "ssh_keys",
            "ssh_from",
            "network",
            "data_gigabytes",
            "bucket",
            "project",
        ):
            assert variables[name]["validation"][0]["error_message"], name
            assert f"var.{name}" in variables[name]["validation"][0]["condition"]
    names = {"address", "private_address", "storage", "scaling", "worker_user_data"}
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


@pytest.mark.parametrize(
    ("module", "host", "attachment"),
    [
        ("digitalocean", "digitalocean_droplet", {"droplet_id": "${digitalocean_droplet.site.id}"}),
        ("hetzner", "hcloud_server", {"server_id": "${hcloud_server.site.id}"}),
    ],
)
def test_a_volume_for_data_is_attached_to_the_host_and_named_to_it(
    module: str, host: str, attachment: dict[str, str]
) -> None:
    kind = f"{PROVIDERS[module]}_volume"
    volume, attached = resources(module)[kind, "data"], resources(module)[f"{kind}_attachment", "data"]
    wanted = "${var.data_gigabytes == 0 ? 0 : 1}"
    assert (volume["count"], attached["count"]) == (wanted, wanted)
    assert volume["size"] == "${var.data_gigabytes}"
    assert volume["lifecycle"][0]["prevent_destroy"] is True
    assert {**attachment, "volume_id": f"${{{kind}.data[0].id}}"}.items() <= attached.items()
    # The host makes the file system, on an empty volume only.
    assert not {"initial_filesystem_type", "format", "server_id", "automount"} & volume.keys()
    assert resources(module)[host, "site"]["user_data"] == "${local.user_data}"
    (local,) = content(module)["locals"]
    assert re.search(r"data_volume\s*=\s*local\.data_volume", local["user_data"])
    name = {"digitalocean": f"scsi-0DO_Volume_{volume['name']}", "hetzner": f"{kind}.data[0].linux_device"}[module]
    assert name in local["data_volume"]
    assert (volume.get("region") or volume["location"]) == "${var.region}"


REFUSED = {
    "name": "Arena", "domain": "arena", "release": "-f", "ssh_keys": "[]", "ssh_from": "[\"anywhere\"]",
    "network": "inside",
    "data_gigabytes": "5", "bucket": "A", "project": "-",
    # The host reads it as a shell does.
    "organiser_email": "o'neil@example.org",
}  # fmt: skip


@pytest.mark.parametrize("module", PROVIDERS)
def test_what_would_fail_later_is_refused_at_once(module: str, tmp_path: Path) -> None:
    """Variables alone need no provider, so Terraform itself reads them where it is."""
    checked = {
        name: block["validation"][0]["condition"]
        for name, block in labelled(module, "variable").items()
        if "validation" in block
    }
    assert checked.keys() == REFUSED.keys()
    patterns = {name: re.search(r'regex\("(.+?)", var\.', condition) for name, condition in checked.items()}
    for name, found in patterns.items():
        if found is not None:
            assert not re.search(found[1].replace("\\\\", "\\"), REFUSED[name]), name
    assert sum(found is not None for found in patterns.values()) >= 6
    if shutil.which("terraform") is None:
        return
    shutil.copy(TERRAFORM / module / "variables.tf", tmp_path)
    example = TERRAFORM / module / "secrets.tfvars.example"
    command = ["terraform", "plan", "-input=false", "-no-color", f"-var-file={example}"]
    variables = {**os.environ, "TF_CLI_CONFIG_FILE": "", "CHECKPOINT_DISABLE": "yes", "HOME": str(tmp_path)}

    def said(*words: str) -> str:
        done = subprocess.run(
            [*command, *words], cwd=tmp_path, env=variables, text=True, check=False, timeout=60,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return done.stdout

    assert "No changes." in said()
    for name, value in REFUSED.items():
        assert f"var.{name} is" in said("-var", f"{name}={value}"), (name, value)


def test_a_bucket_is_private_and_kept_where_the_provider_makes_one() -> None:
    bucket = resources("digitalocean")["digitalocean_spaces_bucket", "files"]
    assert (bucket["count"], bucket["acl"]) == ('${var.bucket == "" ? 0 : 1}', "private")
    assert (bucket["name"], bucket["lifecycle"][0]["prevent_destroy"]) == ("${var.bucket}", True)
    assert "force_destroy" not in bucket


@pytest.mark.parametrize("module", PROVIDERS)
def test_the_address_of_the_bucket_is_one_that_the_arena_takes(module: str) -> None:
    value = labelled(module, "output")["storage"]["value"]
    found = re.search(r'"(s3://[^"]+(?:"[^"]+")?[^"]*)"', value)
    assert found is not None, value
    address = found[1].replace("${var.region}", "fra1")
    bucket = bucket_of(re.sub(r"\$\{[^}]+\}", "ours", address))
    assert (bucket.key, bucket.secret, bucket.name, bucket.region) == ("KEY", "SECRET", "ours", "fra1")
    assert bucket.endpoint.startswith("https://fra1.")


@pytest.mark.parametrize("module", PROVIDERS)
def test_a_record_and_a_project_are_made_only_if_they_are_named(module: str) -> None:
    made = resources(module)
    record = made.get(("digitalocean_record", "site")) or made["hcloud_zone_rrset", "site"]
    assert (record["count"], record["type"]) == ('${var.zone == "" ? 0 : 1}', "A")
    if module == "hetzner":
        (local,) = content(module)["locals"]
        assert 'var.project == "" ? {}' in local["labels"]
        for kind in ("hcloud_server", "hcloud_volume", "hcloud_network", "hcloud_firewall", "hcloud_primary_ip"):
            (block,) = (block for (of, _), block in made.items() if of == kind)
            assert block["labels"] == "${local.labels}", kind
    else:
        project = made["digitalocean_project", "arena"]
        assert (project["count"], project["name"]) == ('${var.project == "" ? 0 : 1}', "${var.project}")
        grouped = set(re.findall(r"digitalocean_\w+", str(project["resources"])))
        assert grouped == {"digitalocean_droplet", "digitalocean_volume", "digitalocean_spaces_bucket"}
