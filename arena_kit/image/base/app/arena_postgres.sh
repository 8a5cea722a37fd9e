#!/bin/sh
# Runs PostgreSQL of this image in the foreground: arena-postgres [DATABASE]. What it writes stays in the container's
# own layer, /data/postgres. A world is never continued after a crash, so nothing is synced to the disk.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
data=/data/postgres
name=${1:-}
case $name in *[!a-z0-9_]*) echo "The name of a database has small letters, digits and _ only." >&2; exit 2 ;; esac
rm -f "$data/postmaster.pid"
if [ -n "$name" ] && [ ! -e "/data/.$name" ]; then
    # Through a pipe: the backend for one user reads a command a line.
    echo "CREATE DATABASE $name" | "$bin/postgres" --single -D "$data" -F postgres >/dev/null
    : >"/data/.$name"
fi
"$bin/postgres" -D "$data" -c listen_addresses=127.0.0.1 -c unix_socket_directories=/tmp \
    -c dynamic_shared_memory_type=mmap -c shared_memory_type=mmap -c fsync=off -c full_page_writes=off \
    -c synchronous_commit=off -c autovacuum=off -c shared_buffers=32MB -c jit=off -c timezone=UTC &
server=$!
# SIGINT ends PostgreSQL at once and cleanly; it would wait for all clients after SIGTERM.
trap 'kill -INT $server' TERM INT
wait $server || wait $server
