"""docker-compose.yml brought up, on images that are made from Debian packages: no registry of images is asked."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import docker
import yaml

from tests.site_image import ROOT, base_images, stand_in_build

SERVERS = """
FROM {base}
COPY etc /etc
RUN apt-get update \\
 && apt-get install --no-install-recommends --yes postgresql redis-server nginx curl openssl certbot pebble \\
 && rm -rf /var/lib/apt/lists/* /etc/nginx/sites-enabled/default
"""
POSTGRES = """
FROM {servers}
RUN rm -rf /var/lib/postgresql/* && install -d -o postgres -g postgres /var/lib/postgresql/data /run/postgresql \\
 && ln -s /usr/lib/postgresql/*/bin/initdb /usr/lib/postgresql/*/bin/postgres /usr/local/bin/ \\
 && printf '%s\\n' '#!/bin/sh' 'set -e' 'cd /var/lib/postgresql/data' \\
    'if [ ! -s PG_VERSION ]; then' \\
    '  printf %s "$POSTGRES_PASSWORD" >/tmp/password' \\
    '  initdb -U "$POSTGRES_USER" --pwfile /tmp/password --auth-local trust -E UTF8 --no-sync .' \\
    '  echo "host all all all scram-sha-256" >>pg_hba.conf' \\
    '  echo "CREATE DATABASE \\"$POSTGRES_DB\\"" | postgres --single -D . postgres >/dev/null' \\
    'fi' 'exec postgres -D . -c listen_addresses=\\*' >/usr/local/bin/start && chmod 755 /usr/local/bin/start
USER postgres
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
CMD ["start"]
"""
REDIS = """
FROM {servers}
USER redis
WORKDIR /tmp
"""
NGINX = """
FROM {servers}
CMD ["nginx", "-g", "daemon off;"]
"""
CERTBOT = "FROM {servers}\n"
WATCHERS = """
FROM {servers}
RUN apt-get update \\
 && apt-get install --no-install-recommends --yes prometheus prometheus-alertmanager prometheus-node-exporter \\
    prometheus-redis-exporter prometheus-blackbox-exporter \\
 && rm -rf /var/lib/apt/lists/*
"""
MONITORING = {
    "prometheus": "prometheus", "alertmanager": "prometheus-alertmanager",
    "redis-exporter": "prometheus-redis-exporter", "node-exporter": "prometheus-node-exporter",
    "blackbox-exporter": "prometheus-blackbox-exporter",
}  # fmt: skip
"""The services of the profile `monitoring` that Debian has, with their programs."""
SERVICES = {"POSTGRES_IMAGE": POSTGRES, "REDIS_IMAGE": REDIS, "NGINX_IMAGE": NGINX, "CERTBOT_IMAGE": CERTBOT}
"""The variables of the compose files that name images, and what stands in for those of the registry."""
DOMAIN = "arena.example.org"
CERTIFICATE_SECONDS = 120
"""The lifetime of the certificates of the test's authority."""
SOCKET = Path("/var/run/docker.sock")
ARENA_UID = 10001
BUILD_SECONDS = 3600


def stand_ins(client: docker.DockerClient, name: str) -> dict[str, str]:
    """Make all images that docker-compose.yml takes from a registry; return their names by its variables.

    They are called NAME-1, NAME-2 and so on.
    """
    made = base_images(client, name)
    servers = f"{name}-servers"
    stand_in_build(client, servers, SERVERS, network="host")
    for number, (variable, dockerfile) in enumerate(SERVICES.items(), len(made) + 1):
        made[variable] = f"{name}-{number}"
        stand_in_build(client, made[variable], dockerfile.replace("{servers}", servers))
    stand_in_build(client, f"{name}-watchers", WATCHERS.replace("{servers}", servers), network="host")
    return made


def missing_compose() -> str:
    """Return why nothing can be brought up; empty when it can."""
    if not SOCKET.exists():
        return f"the engine has no socket {SOCKET}"
    return "" if compose_program() else "neither docker compose nor docker-compose is installed"


def compose_program() -> list[str]:
    """Return the words that start Compose; none if it is not installed."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    if plugin.returncode == 0:
        return ["docker", "compose"]
    return ["docker-compose"] if shutil.which("docker-compose") else []


@dataclass(frozen=True)
class Stack:
    """An arena of docker-compose.yml. folder: holds its variables. port, tls_port: of its nginx on this machine.

    tls_port: 0 without docker-compose.tls.yml.
    """

    project: str
    folder: Path
    port: int
    tls_port: int = 0

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "COMPOSE_PROJECT_NAME": self.project,
            "ARENA_ENV_FILE": str(self.folder / "env"), "DOCKER_BUILDKIT": "0", "COMPOSE_DOCKER_CLI_BUILD": "0",
        }  # fmt: skip

    @property
    def files(self) -> list[str]:
        names = ["docker-compose.yml", *(["docker-compose.tls.yml"] if self.tls_port else [])]
        paths = [*(ROOT / name for name in names), self.folder / "here.yml"]
        return ["--env-file", str(self.folder / "env"), *(word for path in paths for word in ("--file", str(path)))]

    def write(self, variables: Mapping[str, str]) -> None:
        """Write the file of variables, as an operator fills in example.env, and how images are built here."""
        own = {
            "SECRET_KEY": secrets.token_urlsafe(50),
            **{f"{name}_PASSWORD": secrets.token_urlsafe(24) for name in ("POSTGRES", "DATABASE_ROLE", "REDIS")},
            "DOCKER_GROUP_ID": str(SOCKET.stat().st_gid),
            "HTTP_PORT": f"127.0.0.1:{self.port}",
            "HTTPS_PORT": f"127.0.0.1:{self.tls_port}",
        }
        lines = [f"{name}={value}" for name, value in {**own, **variables}.items()]
        (self.folder / "env").write_text("\n".join(lines) + "\n")
        image = f"{self.project}-site"
        # The way out of this machine, for the packages of the image.
        building: dict[str, object] = {"build": {"context": str(ROOT), "network": "host"}, "image": image}
        services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
        own_image = [name for name, service in services.items() if service.get("image") == "rl-arena"]
        here: dict[str, dict[str, object]] = {name: {"image": image} for name in own_image}
        here["web"] = building
        for name, program in MONITORING.items():
            here[name] = {"image": f"{self.project}-watchers", "entrypoint": [program]}
        # Without systemd the root of a machine is mounted privately, and Docker makes no slave of it.
        here["node-exporter"]["volumes"] = ["/:/host:ro"]
        if self.tls_port:
            here |= self._authority(variables["CERTBOT_IMAGE"])
        (self.folder / "here.yml").write_text(yaml.safe_dump({"services": here}))

    def _authority(self, image: str) -> dict[str, dict[str, object]]:
        """Return an authority for certificates beside the stack, and what makes certbot and nginx use it."""
        folder = self.folder / "pebble"
        folder.mkdir()
        make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=pebble",
                "-addext", "subjectAltName=DNS:pebble", "-keyout", str(folder / "key.pem"), "-out",
                str(folder / "cert.pem")]  # fmt: skip
        subprocess.run(make, check=True, capture_output=True, timeout=60)
        config = {
            "listenAddress": "0.0.0.0:14000", "managementListenAddress": "0.0.0.0:15000", "httpPort": 80,
            "tlsPort": 443, "certificate": "/pebble/cert.pem", "privateKey": "/pebble/key.pem",
            "ocspResponderURL": "", "externalAccountBindingRequired": False,
            "certificateValidityPeriod": CERTIFICATE_SECONDS,
        }  # fmt: skip
        (folder / "pebble.json").write_text(json.dumps({"pebble": config}))
        files = f"{folder}:/pebble:ro"
        # Debian 12's nginx is older than the directive.
        text = (ROOT / "nginx/tls/server.conf").read_text()
        assert "http2 on;" in text
        (folder / "server.conf").write_text(text.replace("http2 on;", ""))
        return {
            "pebble": {
                "image": image, "entrypoint": ["pebble", "-config", "/pebble/pebble.json"], "networks": ["outside"],
                "volumes": [files], "environment": {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0"},
            },
            "certbot": {"environment": {"REQUESTS_CA_BUNDLE": "/pebble/cert.pem"}, "volumes": [files]},
            "nginx": {
                # The name leads here, for the authority.
                "networks": {"outside": {"aliases": [DOMAIN]}},
                "volumes": [f"{folder}/server.conf:/etc/nginx/arena/tls.conf:ro"],
            },
        }  # fmt: skip

    def compose(self, *arguments: str) -> str:
        """Run Compose to its end and return what it printed."""
        done = subprocess.run(
            [*compose_program(), *self.files, *arguments], cwd=ROOT, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BUILD_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-6000:]
        return done.stdout
