#!/usr/bin/env bash
# The README's two commands in a Debian 12 root that has never seen the project, as root and as an
# ordinary user. Needs root and debootstrap; takes a few minutes. The mirror is the one of this
# host's own apt configuration.
#   tests/debootstrap.sh [FOLDER]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$(mktemp -d /tmp/berth-debootstrap.XXXXXX)}
bare=$folder/root

trap 'rm -rf --one-file-system "$folder"' EXIT

mirror=$(apt-cache policy base-files | awk '$2 ~ /^http/ {print $2; exit}')
debootstrap --variant=minbase --include=ca-certificates,apt bookworm "$bare" "$mirror"
cp -L /etc/resolv.conf "$bare/etc/resolv.conf"
cp -a /etc/apt/. "$bare/etc/apt/"
for kept in /etc/ssl/certs /usr/local/share/ca-certificates /usr/share/ca-certificates; do
    [ -d "$kept" ] && mkdir -p "$bare$kept" && cp -a "$kept/." "$bare$kept/"
done
git clone -q "$root" "$bare/home/berth"

# Not chroot: the kernel gives no user namespace to whoever is in one. Mounts and processes end with
# the command, which sees no other of this host; the shell stays as their first process, which reaps
# orphans.
inside()
{
    unshare --mount --pid --fork --kill-child --propagation private sh -ec '
        mount --bind "$0" "$0"
        cd "$0"
        mount -t proc proc proc
        mount --rbind /sys sys
        mount --rbind /dev dev
        mount -t tmpfs tmpfs run
        pivot_root . mnt
        cd /
        umount -l mnt
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb "$@" || exit
        exit' "$bare" "$@"
}

echo "== run.sh serve, as root: what it installs and builds is not told on the protocol's stdout"
echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}' |
    inside /home/berth/packaging/run.sh serve >"$folder/serve.out"
python3 -c 'import json, sys
answers = [json.loads(line) for line in sys.stdin]
assert [answer["result"]["serverInfo"]["name"] for answer in answers] == ["berth"], answers' <"$folder/serve.out"

# Everything that run.sh says without arguments.
check_run_log()
{
    grep -q '^ok  *sandbox ' "$1" &&
        grep -q '^hello from user@berth' "$1" &&
        grep -q '^    claude mcp add berth -- /home/berth/build/server/berth serve --mount ' "$1"
}

echo "== run.sh, as root"
inside /home/berth/packaging/run.sh | tee "$folder/run.log"
check_run_log "$folder/run.log"
echo "== test.sh, as root"
inside /home/berth/packaging/test.sh

echo "== run.sh and test.sh, as an ordinary user"
inside useradd --create-home --shell /bin/bash newcomer
rm -rf "$bare/home/berth"/build*
inside chown -R newcomer: /home/berth
as_user() { inside setpriv --reuid newcomer --regid newcomer --init-groups env HOME=/home/newcomer "$@"; }
as_user /home/berth/packaging/run.sh | tee "$folder/run-user.log"
check_run_log "$folder/run-user.log"
as_user /home/berth/packaging/test.sh

echo "== what is missing is named to a user who may not install it"
inside dpkg --purge --force-depends ninja-build >/dev/null
if as_user /home/berth/packaging/run.sh 2>"$folder/missing.log"; then
    echo "run.sh did not notice a missing package" >&2
    exit 1
fi
grep -q 'apt-get install -y --no-install-recommends ninja-build' "$folder/missing.log"
