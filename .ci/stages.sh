# Sourced by .ci/run and .ci/full: stages that print their seconds and a closing count.
# shellcheck shell=bash
set -uo pipefail
umask 022 # what is built must be readable for the ordinary user whom some tests become
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
work=${BERTH_CI_DIR:-$root/build-ci}
mkdir -p "$work"
passed=0 failed=0 skipped=0
failures=() told=()

# Of all time of the processors since the machine's start: how much was idle, and how much there was.
# Only the gate's own if nothing else runs.
idle_and_all()
{
    awk '$1 == "cpu" { for (i = 2; i <= 9; i++) all += $i; print $5 + $6, all }' /proc/stat
}

# stage NAME COMMAND...: runs the command and shows what it printed only where it failed, but at the
# end its lines that begin with "failed: ", "unsteady: ", "left out: " or "slowest: ". A command that
# writes "count: P F S" as its last line is counted so; any other counts as one.
stage()
{
    local name=$1 start=$SECONDS status counts idle all idle_now all_now
    shift
    local log="$work/${name// /-}.log"
    printf '== %s\n' "$name"
    read -r idle all < <(idle_and_all)
    "$@" >"$log" 2>&1
    status=$?
    read -r idle_now all_now < <(idle_and_all)
    counts=$(tail -n 1 "$log" | sed -n 's/^count: \([0-9]* [0-9]* [0-9]*\)$/\1/p')
    if [ -z "$counts" ]; then
        counts=$([ $status -eq 0 ] && echo "1 0 0" || echo "0 1 0")
    fi
    # shellcheck disable=SC2086 # three numbers
    set -- $counts
    mapfile -t -O ${#told[@]} told < <(grep '^failed: \|^unsteady: \|^left out: \|^slowest: ' "$log" | cut -c 1-600)
    # A sandbox test that was skipped hides a gap, so it fails the stage.
    if [ $status -ne 0 ] || [ "$2" -ne 0 ] || [ "$3" -ne 0 ]; then
        tail -n 200 "$log"
        failures+=("$name")
        [ "$2" -ne 0 ] || set -- "$1" 1 "$3"
    fi
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    printf '   %s: %d s (processors %d %% idle), %d passed, %d failed, %d skipped\n' "$name" \
        $((SECONDS - start)) $((100 * (idle_now - idle) / (all_now - all + 1))) "$1" "$2" "$3"
}

finish()
{
    # Last: of a long log, people are shown the end.
    [ ${#told[@]} -eq 0 ] || printf '%s\n' "${told[@]}"
    if [ ${#failures[@]} -gt 0 ]; then
        printf 'failed stages: %s\n' "${failures[*]}"
    fi
    printf 'all stages: %d s\n' "$SECONDS"
    printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    [ ${#failures[@]} -eq 0 ] && [ "$failed" -eq 0 ] && [ "$skipped" -eq 0 ]
}

# A dozen of the product's files are compiled at once, as packaging/run.sh has it: half the time and
# less. By itself .ci/full has each, and .ci/run those that have changed.
# shellcheck disable=SC2034 # of who sources this
joined='-Dunity=on -Dunity_size=12'

# configure NAME SETUP-OPTIONS...: once. Of debugging information what a backtrace needs, for the
# rest takes a fifth of the compilers' time.
configure()
{
    local name=$1
    shift
    [ -f "$work/$name/build.ninja" ] ||
        meson setup --werror -Dcpp_args=-g1 "$@" "$work/$name" "$root"
}

# tidy [FILE...]: clang-tidy with the arguments of a build whose files are by themselves, which is
# configured also for none.
tidy()
{
    CC=clang-19 CXX=clang++-19 configure tidy -Dunity=off -Db_pch=false &&
        ninja -C "$work/tidy" schemas/embedded.hpp server/version.hpp || return
    [ $# -eq 0 ] || printf '%s\n' "$@" | xargs -P 2 -n 2 clang-tidy-19 --quiet -p "$work/tidy"
}

# What tests/clients/pinned has installed into $work/clients, against the build of g++.
pinned_clients()
{
    local each failed=0
    local -x BERTH_CLIENTS=$work/clients BERTH_BINARY=$work/gcc/server/berth
    for each in test_conformance.py test_e2b.py test_sdks.py; do
        python3 "tests/clients/$each" && continue
        if python3 "tests/clients/$each"; then # a client has given up while all else ran
            echo "unsteady: client $each"
        else
            failed=1
        fi
    done
    return $failed
}

# build NAME SETUP-OPTIONS...: configures and builds $work/NAME.
build()
{
    local name=$1
    shift
    configure "$name" "$@" || return
    ninja -C "$work/$name"
}

# tests NAME MESON-TEST-OPTIONS...: runs tests of $work/NAME and counts their cases. Suites that
# failed run once more, each alone, of some only the cases that failed: some measure time, and may
# meet a machine that is busy beside. What passes then is told as unsteady, with what it said at
# first.
tests()
{
    local name=$1 failed_suites
    local first=$work/$1/meson-logs/testlog.json again=$work/$1/meson-logs/testlog-again.json
    export BERTH_FAILED_CASES=$work/failed-cases-$1
    rm -rf "$first" "$again" "$BERTH_FAILED_CASES"
    mkdir -m 1777 "$BERTH_FAILED_CASES" # an ordinary user's too
    shift
    sync
    # Tests wait more than they compute: twice as many at a time as there are processors. With more
    # they take as long, and what is built beside them (.ci/beside) longer.
    if ! MESON_TESTTHREADS=$(($(nproc) * 2)) meson test -C "$work/$name" --print-errorlogs "$@"; then
        mapfile -t failed_suites < <(python3 .ci/count.py --failed "$first")
        [ ${#failed_suites[@]} -gt 0 ] || return 1
        meson test -C "$work/$name" --no-rebuild --num-processes 1 --logbase testlog-again \
            --print-errorlogs "${failed_suites[@]}"
    fi
    # In this order, which is not the one of their names: the last log of a suite counts.
    set -- "$first"
    if [ -f "$again" ]; then
        set -- "$first" "$again"
    fi
    python3 .ci/count.py "$@"
}
