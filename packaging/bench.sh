#!/bin/sh
# Prints how fast berth is beside the programs that people use, as ratios of one run:
#   packaging/bench.sh [--quick]
# What sessions cost and what calls cost are parts of it that can be run alone: tests/bench/sessions.py
# and tests/bench/calls.py, --build FOLDER. The peers from npm (the servers of reference) are compared
# with where BERTH_CLIENTS names a folder made by tests/clients/install.sh; without, those lines say so.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/packaging/install-packages.sh" packages.txt packages-test.txt packages-ci.txt packages-bench.txt
if [ ! -f "$root/build-bench/build.ninja" ]; then
    meson setup --buildtype=release -Dunity=on -Dunity_size=12 -Dtests=true "$root/build-bench" "$root" >&2
fi
ninja -C "$root/build-bench" server/berth server/berth-conformance sandbox/guest/berth-guest sandbox/local/launcher/berth-launcher tests/bench/create-bench tests/bench/session-bench tests/bench/call-load >&2
exec python3 "$root/tests/bench/bench.py" --build "$root/build-bench" "$@"
