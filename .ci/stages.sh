# Sourced by .ci/run and .ci/full: stages that print their seconds and a closing count.
# shellcheck shell=bash
set -uo pipefail
umask 022 # what is built must be readable for the ordinary user whom some tests become
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
work=${BERTH_CI_DIR:-$root/build-ci}
mkdir -p "$work"
passed=0 failed=0 skipped=0
failures=()

# stage NAME COMMAND...: runs the command and shows what it printed only where it failed. A command
# that writes "count: P F S" as its last line is counted so; any other counts as one.
stage()
{
    local name=$1 start=$SECONDS status counts
    shift
    local log="$work/${name// /-}.log"
    printf '== %s\n' "$name"
    "$@" >"$log" 2>&1
    status=$?
    counts=$(tail -n 1 "$log" | sed -n 's/^count: \([0-9]* [0-9]* [0-9]*\)$/\1/p')
    if [ -z "$counts" ]; then
        counts=$([ $status -eq 0 ] && echo "1 0 0" || echo "0 1 0")
    fi
    # shellcheck disable=SC2086 # three numbers
    set -- $counts
    # A sandbox test that was skipped hides a gap, so it fails the stage.
    if [ $status -ne 0 ] || [ "$2" -ne 0 ] || [ "$3" -ne 0 ]; then
        tail -n 200 "$log"
        failures+=("$name")
        [ "$2" -ne 0 ] || set -- "$1" 1 "$3"
    fi
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    printf '   %s: %d s, %d passed, %d failed, %d skipped\n' "$name" $((SECONDS - start)) "$1" "$2" "$3"
}

finish()
{
    if [ ${#failures[@]} -gt 0 ]; then
        printf 'failed stages: %s\n' "${failures[*]}"
    fi
    printf 'all stages: %d s\n' "$SECONDS"
    printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    [ ${#failures[@]} -eq 0 ] && [ "$failed" -eq 0 ] && [ "$skipped" -eq 0 ]
}

# build NAME SETUP-OPTIONS...: configures and builds $work/NAME.
build()
{
    local name=$1
    shift
    [ -f "$work/$name/build.ninja" ] || meson setup --werror "$@" "$work/$name" "$root" || return
    ninja -C "$work/$name"
}

# tests NAME MESON-TEST-OPTIONS...: runs tests of $work/NAME and counts their cases.
tests()
{
    local name=$1 status
    shift
    rm -f "$work/$name"/meson-logs/testlog*.json
    meson test -C "$work/$name" --print-errorlogs "$@"
    status=$?
    python3 .ci/count.py "$work/$name"/meson-logs/testlog*.json || return
    return $status
}
