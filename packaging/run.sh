#!/bin/sh
# Builds berth into build/ (installing what is missing) and runs it with the given arguments:
#   packaging/run.sh serve --session demo
# Without arguments: shows what isolates a sandbox here, makes one tool call, and prints the lines
# that register berth in a client. Those name build/server/berth, not this script: its first run
# builds for minutes, and a client gives its server some seconds.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
berth=$root/build/server/berth
if [ ! -x "$berth" ] && [ "${1-}" = serve ] && [ ! -t 1 ]; then
    cat >&2 <<EOF
berth: nothing is built yet. It is built now, which takes minutes; a client that waits for this
server may give up meanwhile. Run packaging/run.sh once in a terminal, then register
    $berth serve
EOF
fi
# stdin and stdout belong to the protocol: what installs and builds talks on stderr and reads nothing.
"$root/packaging/install-packages.sh" packages.txt </dev/null
if [ ! -f "$root/build/build.ninja" ]; then
    # A dozen files are compiled at once, which takes a third of the time.
    meson setup --buildtype=release -Dunity=on -Dunity_size=12 -Dtests=false "$root/build" "$root" </dev/null >&2
fi
ninja -C "$root/build" </dev/null >&2

if [ $# -gt 0 ]; then
    exec "$berth" "$@"
fi

"$berth" doctor || true
echo
echo "A tool call (bash_exec in a fresh sandbox):"
"$berth" call bash_exec '{"command":"echo \"hello from $(whoami)@$(hostname), $(uname -sr)\"; pwd; ls -A"}'
cat <<EOF

Register it in Claude Code:
    claude mcp add berth -- $berth serve --mount FOLDER:/home/user/project:rw
and start it, in another folder than the one that is mounted, with the built-in tools that berth replaces switched off:
    claude --allowedTools mcp__berth --disallowedTools Bash Read Write Edit Glob Grep \\
        NotebookEdit Monitor EnterWorktree ExitWorktree
The README has the lines for the Agent SDK, .mcp.json and the Inspector.
EOF
