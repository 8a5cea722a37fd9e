#!/usr/bin/env bash
# Makes a fresh Debian 13 host an arena, or a host of its workers, as root. Safe to run again: what is there stays.
#   deploy/debian-host.sh site      everything of docker-compose.yml, with TLS if DOMAIN is set
#   deploy/debian-host.sh worker    workers of duels for an arena elsewhere, from deploy/worker/ and a .env
# Variables, also from /etc/rl-arena/host.env:
#   DOMAIN             name of the site; empty: without TLS, on this host only
#   ORGANISER_EMAIL    of the first organiser, whose password is written to /etc/rl-arena/organiser; empty: none is made
#   WORKER_HOST        name of this host of workers      (default: its own)
#   DATA_VOLUME        device for all that Docker keeps, mounted at /srv/rl-arena; empty: it is on the host's own disk
#   STEPS              which steps are done              (default: all of "volume packages firewall settings images start")
set -euo pipefail
what=${1:-site}
[ "$what" = site ] || [ "$what" = worker ] || { echo "usage: $0 site|worker" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "Run this as root." >&2; exit 1; }
cd "$(dirname "$0")/.."
here=$PWD
# shellcheck disable=SC1091
[ ! -e /etc/rl-arena/host.env ] || . /etc/rl-arena/host.env
DOMAIN=${DOMAIN:-} DATA_VOLUME=${DATA_VOLUME:-} ORGANISER_EMAIL=${ORGANISER_EMAIL:-} WORKER_HOST=${WORKER_HOST:-$(hostname)}
STEPS=${STEPS:-volume packages firewall settings images start}
DATA_ROOT=/srv/rl-arena/docker
export DEBIAN_FRONTEND=noninteractive
install -d -m 711 /etc/rl-arena

volume() {
    [ -n "$DATA_VOLUME" ] || return 0
    # A cloud attaches it after the host has begun.
    for _ in $(seq 300); do [ ! -b "$DATA_VOLUME" ] || break; sleep 1; done
    [ -b "$DATA_VOLUME" ] || { echo "There is no $DATA_VOLUME: attach the volume, and run this again." >&2; exit 1; }
    if [ -n "$(find /var/lib/docker/volumes -mindepth 1 -type d 2>/dev/null)" ] \
        && ! grep -qs "\"$DATA_ROOT\"" /etc/docker/daemon.json; then
        # From its next start on, the engine would show an empty arena in the place of this one.
        echo "An engine keeps data in /var/lib/docker already: move them to $DATA_ROOT first, or unset DATA_VOLUME." >&2
        exit 1
    fi
    # Only an empty volume gets a file system: 2 says that there is nothing of any kind on it.
    found=0
    blkid --probe "$DATA_VOLUME" >/dev/null || found=$?
    case $found in
        0) ;;
        2) mkfs.ext4 -q "$DATA_VOLUME" ;;
        *) echo "What is on $DATA_VOLUME cannot be told." >&2; exit 1 ;;
    esac
    uuid=$(blkid --probe --match-tag UUID --output value "$DATA_VOLUME") || true
    kind=$(blkid --probe --match-tag TYPE --output value "$DATA_VOLUME") || true
    [ -n "$uuid" ] && [ -n "$kind" ] || { echo "There is no file system on $DATA_VOLUME, but something else is." >&2; exit 1; }
    install -d /srv/rl-arena
    mountpoint -q /srv/rl-arena || mount "$DATA_VOLUME" /srv/rl-arena
    grep -q " /srv/rl-arena " /etc/fstab || echo "UUID=$uuid /srv/rl-arena $kind defaults,nofail 0 2" >>/etc/fstab
    # Without the volume the engine must not start: it would begin an empty arena on the host's own disk.
    install -d -m 711 /etc/docker /etc/systemd/system/docker.service.d "$DATA_ROOT"
    printf '[Unit]\nRequiresMountsFor=/srv/rl-arena\n' >/etc/systemd/system/docker.service.d/rl-arena.conf
    if [ ! -e /etc/docker/daemon.json ]; then
        printf '{"data-root": "%s"}\n' "$DATA_ROOT" >/etc/docker/daemon.json
        # One that runs without any data goes on there at once.
        ! systemctl is-active --quiet docker 2>/dev/null || { systemctl daemon-reload && systemctl restart docker; }
    elif ! grep -q "\"$DATA_ROOT\"" /etc/docker/daemon.json; then
        echo "Set data-root to $DATA_ROOT in /etc/docker/daemon.json, and run this again." >&2
        exit 1
    fi
}

packages() {
    apt-get update -qq
    apt-get install -qq --yes --no-install-recommends \
        ca-certificates git docker.io docker-cli docker-compose mmdebstrap ufw unattended-upgrades openssl
    docker compose version >/dev/null || { echo "This needs Compose 2, which Debian has from version 13 on." >&2; exit 1; }
    printf 'APT::Periodic::Update-Package-Lists "1";\nAPT::Periodic::Unattended-Upgrade "1";\n' \
        >/etc/apt/apt.conf.d/20auto-upgrades
    # Containers' logs rotate by the files of Compose; this bounds what the host itself writes.
    install -d /etc/systemd/journald.conf.d
    printf '[Journal]\nSystemMaxUse=500M\n' >/etc/systemd/journald.conf.d/rl-arena.conf
}

firewall() {
    # Docker opens published ports by rules of its own, so what must stay closed is not published at all.
    # Not by its name: ufw knows that only where the server of ssh is installed.
    ufw allow 22/tcp >/dev/null
    if [ "$what" = site ]; then
        ufw allow 80/tcp >/dev/null
        ufw allow 443/tcp >/dev/null
    fi
    ufw --force enable >/dev/null
}

random() { openssl rand -base64 "$1" | tr -d '\n=' | tr '+/' '-_'; }

settings() {
    # DUEL_PARALLELISM follows the cores; CHANNEL_DIR holds the sockets between referees and players.
    install -d -o 10001 -m 711 /var/lib/rl-arena
    umask 077
    group=$(getent group docker | cut -d: -f3)
    if [ "$what" = worker ]; then
        [ -e deploy/worker/.env ] || { echo "Put the arena's .env into $here/deploy/worker/.env first." >&2; exit 1; }
        # The group of this host, whatever it is elsewhere. A file from elsewhere may lack its last line break.
        sed -i -e '/^DOCKER_GROUP_ID=/d' -e '$a\' deploy/worker/.env
        echo "DOCKER_GROUP_ID=${group:-0}" >>deploy/worker/.env
        return
    fi
    [ ! -e .env ] || return 0
    {
        echo "SECRET_KEY=$(random 50)"
        for password in POSTGRES DATABASE_ROLE REDIS; do echo "${password}_PASSWORD=$(random 24)"; done
        echo "DOCKER_GROUP_ID=${group:-0}"
        if [ -n "$DOMAIN" ]; then
            echo "ALLOWED_HOSTS=$DOMAIN"
            echo "SITE_URL=https://$DOMAIN"
            echo "TLS_DOMAINS=$DOMAIN"
            echo "COMPOSE_FILE=docker-compose.yml:docker-compose.tls.yml"
        else
            echo "ALLOWED_HOSTS=127.0.0.1,localhost"
            echo "HTTP_PORT=127.0.0.1:80"
        fi
        if [ -n "$ORGANISER_EMAIL" ]; then
            password=$(random 18)
            echo "$password" >/etc/rl-arena/organiser
            echo "SUPERUSER_EMAIL=$ORGANISER_EMAIL"
            echo "SUPERUSER_PASSWORD=$password"
        fi
    } >.env
}

images() {
    if [ "$what" = worker ]; then
        # A host that comes and goes should not build: ARENA_IMAGE in its .env names what a registry has.
        compose_worker pull --quiet || compose_worker build
        return
    fi
    arena_kit/image/base/make-base-image.sh
    docker compose build
}

start() {
    unit=rl-arena-$what.service
    sed "s#/opt/rl-arena#$here#" "deploy/systemd/$unit" >"/etc/systemd/system/$unit"
    printf 'WORKER_HOST=%s\n' "$WORKER_HOST" >/etc/rl-arena/unit.env
    systemctl daemon-reload
    systemctl enable --now docker "$unit"
}

compose_worker() { WORKER_HOST=$WORKER_HOST docker compose --project-directory deploy/worker "$@"; }

for step in $STEPS; do
    echo "=== $step"
    "$step"
done
