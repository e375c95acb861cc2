#!/usr/bin/env bash
# The machine tests, the parity suite and what the units promise on Debian's own kernel with cgroup v2
# alone, as most hosts have it: User Mode Linux runs that kernel as a program, with this host's files.
# Needs root and the packages user-mode-linux, e2fsprogs and systemd; takes hours, since every system
# call is slow. So of the parity suite it runs what a kernel decides, and not the tables of edits and
# searches, which are the same everywhere. Without a part all of them, in one such machine after another.
#   tests/uml.sh BUILD-FOLDER [machine | machine-user | parity | parity-user | units]...
# shellcheck source=tests/uml_machine.sh
. "$(dirname "$0")/uml_machine.sh"

shift
parts=("$@")
[ $# -gt 0 ] || parts=(machine machine-user parity parity-user units)

run_part()
{
    # Where it is asked for its status bash stops at no failure.
    rm -f "$folder/disk" && truncate -s 4G "$folder/disk" && truncate -s 512M "$folder/swap" &&
        mkfs.ext4 -q -E lazy_itable_init=1 "$folder/disk" && mkswap -q "$folder/swap" || return
    { echo "part=$1" && cat; } <<'EOF' | uml_run "$folder/disk" "$folder/swap"
export BERTH_TEST_GUEST=$build/tests/unit/local/berth-test-guest
export BERTH_TEST_REAL_GUEST=$build/sandbox/guest/berth-guest
export BERTH_TEST_LAUNCHER=$build/sandbox/local/launcher/berth-launcher
cases=(adoption boundaries commands copies crowds ends fairness inside isolation jobs limits mount_roots
    outcomes output pausing progress quota reach repeats save_on_end sessions setup stopping survival
    templates terms variables whole)
use_disk -t ext4 /dev/ubda

# A program that core_pattern names runs as root on every crash of this machine, but not on one inside.
core_pattern()
{
    printf '#!/bin/sh\necho "$1" >>/mnt/crashes\ncat >/dev/null\n' >/mnt/handler
    chmod 755 /mnt/handler
    echo '|/mnt/handler %e' >/proc/sys/kernel/core_pattern
    BERTH_STATE_DIR=/mnt/crash "$build/server/berth" call bash_exec \
        '{"command":"ulimit -c 0; cp /bin/sh inside; ./inside -c \"kill -SEGV \\$\\$\"; true"}'
    cp /bin/sh /mnt/outside
    (ulimit -c 0; /mnt/outside -c 'kill -SEGV $$')
    until grep outside /mnt/crashes; do sleep 0.1; done
    ! grep inside /mnt/crashes || status=1
    echo core >/proc/sys/kernel/core_pattern
}

units()
{
    # Whose root may spare a process from the kernel's choice, which that of a container may not.
    "$build/tests/unit/unit-tests" --test-suite=resident || status=1
    # Of the units what cgroups with controllers decide.
    BERTH_BUILD=$build BERTH_MESON=$(command -v meson) BERTH_PREFIX=/usr/local \
        python3 tests/systemd/test_units.py \
        UnitTest.test_a_machine_is_below_its_unit_and_outlives_it \
        UnitTest.test_a_unit_of_one_s_own_that_is_restarted \
        UserUnitTest.test_a_machine_is_below_its_unit_and_outlives_it || status=1
    swapon /dev/ubdb || status=1
    python3 tests/parity/run.py cases._reclaim || status=1
    python3 tests/parity/run.py --user 65534 --delegated cases._reclaim || status=1
}

case $part in
machine)
    core_pattern
    "$build/server/berth" doctor || status=1
    "$build/tests/unit/local/machine-tests" || status=1 ;;
machine-user) BERTH_TEST_AS_USER=1 "$build/tests/unit/local/machine-tests" || status=1 ;;
parity) python3 tests/parity/run.py --backend local "${cases[@]/#/cases.}" || status=1 ;;
parity-user) python3 tests/parity/run.py --backend local --user 65534 "${cases[@]/#/cases.}" || status=1 ;;
units) units ;;
*) echo "no such part: $part"; status=1 ;;
esac
EOF
}

failed=()
for part in "${parts[@]}"; do
    echo "== $part"
    run_part "$part" || failed+=("$part")
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" && false; }
