#!/usr/bin/env bash
# Keeps a PostgreSQL cluster for tests while a test uses it: see postgres_cluster.hpp.
#
#   postgres_cluster.sh DIRECTORY
#
# Every user of the cluster holds a shared lock on DIRECTORY/users. After some seconds without users, the script stops
# the server and removes the directory. A test that dies loses its lock, so nothing is left behind. DIRECTORY/ready
# appears when the server is ready; DIRECTORY/failed, with the reason, if it cannot start.
set -euo pipefail

directory="$1"
linger=8   # seconds without users
data="$directory/data"

exec 8>"$directory/keeper"
flock -n 8 || exit 0   # there is a keeper

give_up() {
  printf '%s\n' "$*" >"$directory/failed.new"
  mv "$directory/failed.new" "$directory/failed"
  exit 1
}

bin="${DURAMEN_POSTGRES_BIN:-}"
if [[ -z "$bin" ]]; then
  for candidate in /usr/lib/postgresql/{18,17,16,15}/bin; do
    if [[ -x "$candidate/initdb" ]]; then bin="$candidate"; break; fi
  done
fi
[[ -n "$bin" && -x "$bin/initdb" ]] || give_up "PostgreSQL 15 or newer is not installed (Debian: postgresql-15)"

# The server refuses to run as root.
as_owner=()
if ((EUID == 0)); then
  id -u postgres >/dev/null 2>&1 || give_up "running as root, and there is no user 'postgres' to run the server as"
  as_owner=(runuser -u postgres --)
  chown postgres "$directory"
fi

rm -f "$directory/ready"
# A keeper that was killed may have left its server running.
stop_server() {
  local postmaster
  postmaster="$(head -n 1 "$data/postmaster.pid" 2>/dev/null || true)"
  [[ -n "$postmaster" ]] || return 0
  kill -INT "$postmaster" 2>/dev/null || true
  for ((i = 0; i < 100; ++i)); do
    kill -0 "$postmaster" 2>/dev/null || return 0
    sleep 0.1
  done
}
stop_server
rm -rf "$data" "$directory/template" "$directory"/.s.PGSQL.5432*
"${as_owner[@]}" "$bin/initdb" -D "$data" -U postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync \
  --no-instructions >"$directory/initdb.log" 2>&1 8>&- || give_up "initdb failed: $(tail -n 1 "$directory/initdb.log")"
# Tests that break their server start from a copy.
"${as_owner[@]}" cp -a "$data" "$directory/template"

"${as_owner[@]}" "$bin/postgres" -D "$data" -k "$directory" -c listen_addresses= -c fsync=on -c synchronous_commit=on \
  -c max_connections=200 -c shared_buffers=128MB -c max_wal_size=256MB -c min_wal_size=64MB -c logging_collector=off \
  -c max_locks_per_transaction=256 >"$directory/log" 2>&1 8>&- &
starter=$!
trap 'kill "$starter" 2>/dev/null || true' EXIT

for ((i = 0; i < 300; ++i)); do
  if "$bin/pg_isready" -q -h "$directory" 8>&-; then break; fi
  kill -0 "$starter" 2>/dev/null || give_up "the server did not start: $(tail -n 1 "$directory/log")"
  sleep 0.1
done
"$bin/pg_isready" -q -h "$directory" 8>&- || give_up "the server did not start in time"
printf '%s\n' "$bin" >"$directory/ready.new"
mv "$directory/ready.new" "$directory/ready"

exec 7>>"$directory/users"
idle=0
while ((idle < linger)); do
  sleep 1
  if ! kill -0 "$starter" 2>/dev/null; then
    # The server died. The next test starts another one; the log says why.
    rm -f "$directory/ready"
    cp "$directory/log" "$directory/log.died"
    exit 1
  fi
  if flock -n -x 7; then
    idle=$((idle + 1))
    ((idle < linger)) && flock -u 7
  else
    idle=0
  fi
done
# From here on no new user is admitted; a waiting test finds the directory without a server.
flock -x 7
rm -f "$directory/ready"
stop_server
wait "$starter" 2>/dev/null || true
rm -rf "$data" "$directory/template"
