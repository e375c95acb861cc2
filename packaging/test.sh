#!/bin/sh
# Builds berth with its tests into build-test/ (installing what is missing) and runs every test.
# Arguments are handed to `meson test`, e.g. packaging/test.sh --suite unit.
set -eu
case "${1:-}" in
-h | --help)
    cat <<'END'
usage: packaging/test.sh [ARGUMENTS OF meson test]

Installs what is missing, builds berth with its tests into build-test/ and runs every test.
  packaging/test.sh                    all: 20 to 40 minutes on two cores
  packaging/test.sh --suite unit       one suite: unit, lint, docs, guide, mcp, packaging, parity,
                                       crash, e2b-emulator
  packaging/test.sh --list             their names, once it is built
END
    exit 0
    ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/packaging/install-packages.sh" packages.txt packages-test.txt

if [ ! -f "$root/build-test/build.ninja" ]; then
    # A dozen files are compiled at once, which takes half of the time and less.
    meson setup -Doptimization=2 -Dunity=on -Dunity_size=12 -Dtests=true "$root/build-test" "$root"
fi
ninja -C "$root/build-test"
# Tests wait more than they compute.
MESON_TESTTHREADS=${MESON_TESTTHREADS:-$(($(nproc) * 2))} \
    exec meson test -C "$root/build-test" --print-errorlogs "$@"
