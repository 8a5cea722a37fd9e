"""The deployment files for Kubernetes, and the Job of a lot: valid for new versions, and with no rights to spare."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from arena_kit.cluster.lots.manifest import LotJob, lot_manifest
from arena_kit.cluster.manifest import PodPlayerSpec, Tenant
from arena_kit.cluster.rights import LOT_RIGHTS, WORLD_RIGHTS
from arena_kit.environment.spec import Limits
from core import settings as arena_settings
from core.operations.scaling.providers import kubernetes as kubernetes_provider

ROOT = Path(__file__).parents[1]
COMPOSE, FILES = ROOT / "docker-compose.yml", ROOT / "deploy" / "kubernetes"
OVERLAYS = ("minikube", "production")
VERSIONS = ("1.33", "1.34", "1.35", "1.36", "1.37")
Plain = dict[str, Any]
CLUSTER_WIDE = ("Namespace", "PriorityClass")


def rendered(folder: Path) -> list[Plain]:
    """What `kubectl kustomize` prints for a folder, as far as ours use it."""
    asked = yaml.safe_load((folder / "kustomization.yaml").read_text())
    known = {"apiVersion", "kind", "namespace", "resources", "images", "patches", "replicas"}
    assert set(asked) <= known
    found: list[Plain] = []
    for name in asked["resources"]:
        path = folder / name
        found += rendered(path) if path.is_dir() else [one for one in yaml.safe_load_all(path.read_text()) if one]
    for one in found:
        if "namespace" in asked and one["kind"] not in CLUSTER_WIDE:
            one["metadata"].setdefault("namespace", asked["namespace"])
    for patch in asked.get("patches", ()):
        (change,) = yaml.safe_load_all((folder / patch["path"]).read_text())
        (target,) = (one for one in found if key(one) == key(change))
        merge(target, change)
    for image in asked.get("images", ()):
        for container in (one for item in found for one in containers(item)):
            if container["image"] == image["name"]:
                container["image"] = f"{image['newName']}@{image['digest']}"
    for replicas in asked.get("replicas", ()):
        (target,) = (one for one in found if (one["kind"], one["metadata"]["name"]) == ("Deployment", replicas["name"]))
        target["spec"]["replicas"] = replicas["count"]
    return found


def key(one: Plain) -> tuple[str, str, str]:
    return one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]


def merge(target: Plain, change: Mapping[str, Any]) -> None:
    for name, value in change.items():
        if isinstance(value, dict) and isinstance(target.get(name), dict):
            merge(target[name], value)
        else:
            target[name] = value


def pod_of(one: Plain) -> Plain:
    """The specification of the pods that an object makes; empty for one that makes none."""
    spec = one.get("spec", {})
    spec = spec.get("jobTemplate", {}).get("spec", spec)
    pod: Plain = spec.get("template", {}).get("spec", {})
    return pod


def containers(one: Plain) -> Iterator[Plain]:
    yield from pod_of(one).get("containers", ())


def named(objects: list[Plain], kind: str, name: str) -> Plain:
    (found,) = (one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return found


@pytest.fixture(scope="module", params=OVERLAYS)
def objects(request: pytest.FixtureRequest) -> list[Plain]:
    return rendered(FILES / "overlays" / request.param)


def lot() -> Plain:
    player = PodPlayerSpec("registry.test/players@sha256:" + "b" * 64, Limits(gpu_count=1))
    job = LotJob("duel", 1, 1, "0123456789abcdef", "{}", (player, player), 1800.0)
    tenant = Tenant(
        "arena", "arena-players", "registry.test/arena@sha256:" + "a" * 64, runtime_class="gvisor",
        priority_class="arena-lot", pull_secret="registry", queue="lots", node_selector={"pool": "spot"},
        tolerations=[{"key": "pool", "operator": "Equal", "value": "spot"}], host_users=False,
    )  # fmt: skip
    return lot_manifest(job, tenant)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_lot_is_valid_for_new_versions(version: str) -> None:
    kubernetes_validate.validate(lot(), version, strict=True)


@pytest.mark.slow
def test_all_files_are_valid_for_new_versions(objects: list[Plain]) -> None:
    for one in objects:
        for version in (VERSIONS[0], VERSIONS[-1]):
            kubernetes_validate.validate(one, version, strict=True)
    names = [key(one) for one in objects]
    assert len(names) == len(set(names))


def test_pods_have_no_more_rights_than_the_level_restricted(objects: list[Plain]) -> None:
    for one in (*objects, lot()):
        pod = pod_of(one)
        if not pod:
            continue
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        kinds = {kind for volume in pod.get("volumes", ()) for kind in volume if kind != "name"}
        assert kinds <= {"emptyDir", "persistentVolumeClaim", "secret"}
        for container in (*pod["containers"], *pod.get("initContainers", ())):
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"]
            assert "@sha256:" in container["image"]


def test_every_namespace_lets_nothing_in(objects: list[Plain]) -> None:
    namespaces = {one["metadata"]["name"] for one in objects if one["kind"] == "Namespace"}
    closed = {
        one["metadata"]["namespace"]: set(one["spec"]["policyTypes"])
        for one in objects
        if one["kind"] == "NetworkPolicy" and one["spec"]["podSelector"] == {} and "ingress" not in one["spec"]
    }
    assert closed == {"arena": {"Ingress"}, "arena-players": {"Ingress", "Egress"}}
    assert namespaces == set(closed)


def test_the_driver_may_do_what_it_does_and_nothing_else(objects: list[Plain]) -> None:
    (role,) = (one for one in objects if one["kind"] == "Role")
    given = {(verb, resource) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    used = {
        (right.verb, f"{right.resource}/{right.subresource}" if right.subresource else right.resource)
        for right in LOT_RIGHTS
    }
    assert given == used
    assert role["metadata"]["namespace"] == "arena-players"
    (binding,) = (one for one in objects if one["kind"] == "RoleBinding")
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "arena-driver", "namespace": "arena"}]
    drivers = [one for one in objects if pod_of(one).get("serviceAccountName") == "arena-driver"]
    assert [one["metadata"]["name"] for one in drivers] == ["worker-lots"]
    silent = {one["metadata"]["name"] for one in objects if one.get("automountServiceAccountToken") is False}
    assert silent == {"arena", "arena-nobody"}


def test_variables_are_those_of_the_settings_and_no_secrets(objects: list[Plain]) -> None:
    (given,) = (one["data"] for one in objects if one["kind"] == "ConfigMap")
    own = {one["name"]: one["value"] for item in objects for box in containers(item) for one in box.get("env", ())}
    variables = arena_settings.env
    assert (set(given) | set(own)) <= set(variables.names)
    assert not set(given) & variables.secrets
    image = given["KUBERNETES_OPTIONS"].removeprefix("image=").partition(",")[0]
    assert image in {box["image"] for item in objects for box in containers(item)}


def test_every_pod_has_the_secrets_that_it_uses_and_no_other() -> None:
    given: dict[str, set[str]] = {}
    for path in sorted((ROOT / "deploy/kubernetes").rglob("*.yaml")):
        for one in filter(None, yaml.safe_load_all(path.read_text())):
            for box in containers(one):
                named = {source["secretRef"]["name"] for source in box.get("envFrom", ()) if "secretRef" in source}
                given.setdefault(one["metadata"]["name"], set()).update(named)
    assert {name: secrets for name, secrets in given.items() if secrets} == {
        "events": {"arena"},
        "executor": {"arena"},
        "worker-tournament": {"arena"},
        "web": {"arena", "arena-web"},
        "migrate": {"arena", "arena-owner"},
        "backup": {"arena", "arena-owner"},
        "worker-lots": {"arena", "arena-registry"},
        "worker-duel": {"arena", "arena-registry"},
        "worker-rollout": {"arena", "arena-registry", "arena-models"},
        "worker-publish": {"arena", "arena-publish"},
        "autoscale": {"arena", "arena-scaling"},
    }


def test_all_that_a_lot_takes_of_a_node_is_within_the_quota(objects: list[Plain]) -> None:
    (quota,) = (one["spec"]["hard"] for one in objects if one["kind"] == "ResourceQuota")
    assert {"pods", "requests.cpu", "requests.memory", "limits.memory", "limits.ephemeral-storage"} <= set(quota)
    (limits,) = (one["spec"]["limits"][0]["default"] for one in objects if one["kind"] == "LimitRange")
    # Where a quota is, the cluster refuses every container that has no limit at all.
    for container in (*pod_of(lot())["containers"], *pod_of(lot())["initContainers"]):
        assert {"memory", "ephemeral-storage"} <= {**limits, **container["resources"]["limits"]}.keys()


def test_every_queue_but_that_of_builds_has_workers(objects: list[Plain]) -> None:
    served = {box["args"][-1] for item in objects for box in containers(item) if "run_workers" in box.get("args", ())}
    assert served == {"lots", "duel", "tournament", "publish"}


def test_every_process_of_compose_runs_on_a_cluster() -> None:
    """As it runs there, but for the folder of gunicorn's own files, which Docker's pods alone have in memory.

    On a cluster people cannot play against agents yet, so nothing serves the queue of sittings.
    """
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    ours = {name: one for name, one in services.items() if one.get("image") == "rl-arena" and "profiles" not in one}
    objects = {one["metadata"]["name"]: one for one in rendered(FILES / "site") if pod_of(one)}
    # Builds need an engine. Players' duels are the driver's.
    assert set(ours) - {"worker-build"} == set(objects) - {"worker-lots", "backup", "image"}
    for name in set(ours) & set(objects):
        (box,) = containers(objects[name])
        command = [word for word in ours[name]["command"] if word != "sitting"]
        given = [str(word).replace("/dev/shm", "/tmp") for word in command]
        assert box["args"] == given
        for variable in box.get("env", ()):
            assert ours[name]["environment"][variable["name"]] == variable["value"]


@pytest.mark.parametrize("name", ["web", "events"])
def test_the_address_leads_to_a_process_that_is_let_in_and_probed(name: str) -> None:
    objects = rendered(FILES / "overlays" / "production")
    (rule,) = named(objects, "Ingress", name)["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    variables = named(objects, "ConfigMap", "arena")["data"]
    assert path["path"] == {"web": "/", "events": variables["EVENTS_URL"]}[name]
    assert f"https://{rule['host']}" == variables["SITE_URL"]
    assert path["pathType"] == "Prefix"
    service = named(objects, "Service", path["backend"]["service"]["name"])
    (port,) = service["spec"]["ports"]
    assert port["name"] == path["backend"]["service"]["port"]["name"]
    deployment = named(objects, "Deployment", name)
    assert service["spec"]["selector"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    (box,) = containers(deployment)
    ports = {one["name"]: one["containerPort"] for one in box["ports"]}
    assert f"--bind=0.0.0.0:{ports[port['targetPort']]}" in box["args"]
    policy = named(objects, "NetworkPolicy", name)["spec"]
    assert policy["podSelector"]["matchLabels"] == service["spec"]["selector"]
    assert policy["ingress"][0]["ports"] == [{"port": ports[port["targetPort"]]}]
    for probe in (box["livenessProbe"], box["readinessProbe"]):
        assert probe["httpGet"]["port"] == port["targetPort"]
        assert probe["httpGet"]["path"] == {"web": "/health/live", "events": "/events/health"}[name]


def test_pages_ask_for_no_streams_where_no_address_leads_to_them(objects: list[Plain]) -> None:
    led = any(one["kind"] == "Ingress" and one["metadata"]["name"] == "events" for one in objects)
    assert bool(named(objects, "ConfigMap", "arena")["data"]["EVENTS_URL"]) is led
    assert bool(named(objects, "Deployment", "events")["spec"]["replicas"]) is led


def test_the_scaler_may_do_what_it_does_and_nothing_else() -> None:
    objects = rendered(FILES / "scaling")
    for one in objects:
        kubernetes_validate.validate(one, VERSIONS[-1], strict=True)
    (role,) = (one for one in objects if one["kind"] == "Role")
    given = {(verb, resource) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    # The calls of the provider: read_namespaced_deployment and so on.
    code = Path(str(kubernetes_provider.__file__)).read_text()
    verbs = {"read": "get", "list": "list", "patch": "patch"}
    resources = {"pod": "pods", "deployment": "deployments", "deployment_scale": "deployments/scale"}
    used = {(verbs[verb], resources[what]) for verb, what in re.findall(r"self\._\w+\.(\w+)_namespaced_(\w+)", code)}
    assert given == used
    (pod,) = (one for one in objects if one["kind"] == "Deployment")
    options = pod_of(pod)["containers"][0]["env"][0]["value"].split(",")
    for rule in role["rules"]:
        assert rule["resources"] == ["pods"] or f"deployment={rule['resourceNames'][0]}" in options
    workers = [one["metadata"]["name"] for one in rendered(FILES / "site") if one["kind"] == "Deployment"]
    assert "worker-lots" in workers
    (binding,) = (one for one in objects if one["kind"] == "RoleBinding")
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "autoscale", "namespace": "arena"}]


def test_the_image_is_kept_on_nodes_with_taints_too(objects: list[Plain]) -> None:
    """Players may have nodes of their own, and a lot waits for its referee's image where it was not fetched before."""
    (kept,) = (one for one in objects if one["kind"] == "DaemonSet")
    assert pod_of(kept)["tolerations"] == [{"operator": "Exists"}]
    (image,) = {one["image"] for one in containers(kept)}
    (options,) = (one["data"]["KUBERNETES_OPTIONS"] for one in objects if one["kind"] == "ConfigMap")
    assert f"image={image}," in options


def rollouts() -> list[Plain]:
    """What an operator adds who wants rollouts."""
    return rendered(FILES / "worlds") + rendered(FILES / "rollouts")


def test_the_workers_of_rollouts_may_do_what_they_do_where_no_lot_is() -> None:
    objects = rollouts()
    for one in objects:
        for version in (VERSIONS[0], VERSIONS[-1]):
            kubernetes_validate.validate(one, version, strict=True)
    (role,) = (one for one in objects if one["kind"] == "Role")
    given = {(verb, resource) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert given == {
        (right.verb, f"{right.resource}/{right.subresource}" if right.subresource else right.resource)
        for right in WORLD_RIGHTS
    }
    # Who runs commands among lots can forge their results.
    assert role["metadata"]["namespace"] == "arena-worlds"
    (binding,) = (one for one in objects if one["kind"] == "RoleBinding")
    assert binding["metadata"]["namespace"] == "arena-worlds"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "arena-worlds", "namespace": "arena"}]
    (worker,) = (one for one in objects if one["kind"] == "Deployment")
    assert pod_of(worker)["serviceAccountName"] == "arena-worlds"
    assert next(containers(worker))["args"] == ["python", "manage.py", "run_workers", "rollout"]
    driver = [one for one in rendered(FILES / "players") if one["kind"] == "Role"]
    assert not any("exec" in resource for one in driver for rule in one["rules"] for resource in rule["resources"])


def test_the_namespace_of_worlds_lets_nothing_in_or_out_and_no_pod_with_rights() -> None:
    objects = rendered(FILES / "worlds")
    (namespace,) = (one for one in objects if one["kind"] == "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    (policy,) = (one for one in objects if one["kind"] == "NetworkPolicy")
    assert policy["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    (account,) = (one for one in objects if one["kind"] == "ServiceAccount")
    assert account["automountServiceAccountToken"] is False
    (quota,) = (one["spec"]["hard"] for one in objects if one["kind"] == "ResourceQuota")
    assert {"pods", "requests.cpu", "requests.memory", "limits.memory", "limits.ephemeral-storage"} <= set(quota)
    assert {key(one)[1] or key(one)[2] for one in objects} == {"arena-worlds"}
