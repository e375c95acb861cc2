#!/bin/sh
# Builds berth with its tests into build-test/ (installing what is missing) and runs every test.
# Arguments are handed to `meson test`, e.g. packaging/test.sh --suite unit.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/packaging/install-packages.sh" packages.txt packages-test.txt

if [ ! -f "$root/build-test/build.ninja" ]; then
    meson setup -Doptimization=2 -Dtests=true "$root/build-test" "$root"
fi
ninja -C "$root/build-test"
exec meson test -C "$root/build-test" --print-errorlogs "$@"
