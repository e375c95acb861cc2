#!/usr/bin/env bash
# run.sh BUILD SECONDS [TARGET...]: fuzzes the targets of a build with -Dfuzzing=true, as many at once
# as there are processors, each for so long. It starts from tests/fuzz/corpus and from what earlier
# runs kept in BUILD/fuzz, where inputs that failed are put too: TARGET/crash-..., /timeout-...
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?run.sh BUILD SECONDS [TARGET...]}" && pwd)
seconds=${2:?run.sh BUILD SECONDS [TARGET...]}
shift 2
if [ $# -eq 0 ]; then
    mapfile -t targets < <(ls "$here/corpus")
    set -- "${targets[@]}"
fi
export here build seconds
# Symbols in the traces, where clang's own program for them is not under its plain name.
export ASAN_SYMBOLIZER_PATH=${ASAN_SYMBOLIZER_PATH:-$(command -v llvm-symbolizer llvm-symbolizer-19 | head -n 1)}

one()
{
    local name=$1 folder=$build/fuzz/$1
    mkdir -p "$folder/kept"
    if nice "$build/tests/fuzz/fuzz-$name" -max_total_time="$seconds" -max_len=65536 -timeout=30 \
        -rss_limit_mb=2048 -malloc_limit_mb=1024 -print_final_stats=1 \
        -artifact_prefix="$folder/" "$folder/kept" "$here/corpus/$name" >"$folder/log" 2>&1; then
        printf 'passed: %s: %s\n' "$name" "$(tr '\n' ' ' <"$folder/log" |
            sed 's/.*number_of_executed_units: *\([0-9]*\).*slowest_unit_time_sec: *\([0-9]*\).*/\1 inputs, the slowest took \2 s/')"
    else
        tail -n 60 "$folder/log"
        printf 'failed: %s: %s\n' "$name" "$(grep -a -m 1 -E 'what\(\)|ERROR:|runtime error:' "$folder/log")"
        return 1
    fi
}
export -f one
printf '%s\n' "$@" | xargs -P "$(nproc)" -I '{}' bash -c 'one {}'
