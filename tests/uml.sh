#!/usr/bin/env bash
# The machine tests, the parity suite and what the units promise on Debian's own kernel with cgroup v2
# alone, as most hosts have it: User Mode Linux runs that kernel as a program, with this host's files.
# Needs root and the packages user-mode-linux, e2fsprogs and systemd; takes about ten minutes, since
# every system call is slow.
#   tests/uml.sh BUILD-FOLDER
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath "$1")
folder=$(mktemp -d /tmp/berth-uml.XXXXXX)
trap 'rm -rf "$folder"' EXIT

# The files of the host have no owners that a guest kernel could change: what is written goes to a
# disk of its own.
truncate -s 4G "$folder/disk"
mkfs.ext4 -q -E lazy_itable_init=1 "$folder/disk"
cat >"$folder/init" <<EOF
#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /run
mkdir -p /run/result /dev/pts /dev/shm
mount --bind "$folder" /run/result
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t ext4 /dev/ubda /mnt
for place in tmp var/tmp var/lib; do
    mkdir -p /mnt/\$place && chmod 1777 /mnt/\$place
done
ip link set lo up
cd "$root"
export BERTH_BINARY=$build/server/berth
export BERTH_TEST_GUEST=$build/tests/unit/local/berth-test-guest
export BERTH_TEST_LAUNCHER=$build/sandbox/local/launcher/berth-launcher
mount --bind /mnt/tmp /tmp && mount --bind /mnt/var/tmp /var/tmp && mount --bind /mnt/var/lib /var/lib
status=0
"$build/server/berth" doctor || status=1
"$build/tests/unit/local/machine-tests" || status=1
BERTH_TEST_AS_USER=1 "$build/tests/unit/local/machine-tests" || status=1
python3 tests/parity/run.py --backend local || status=1
python3 tests/parity/run.py --backend local --user 65534 || status=1
# Of the units what cgroups with controllers decide.
BERTH_BUILD=$build BERTH_MESON=$(command -v meson) BERTH_PREFIX=/usr/local python3 tests/systemd/test_units.py \
    UnitTest.test_a_machine_is_below_its_unit_and_outlives_it \
    UnitTest.test_a_unit_of_one_s_own_that_is_restarted \
    UserUnitTest.test_a_machine_is_below_its_unit_and_outlives_it || status=1
echo \$status >/run/result/status
sync
echo o >/proc/sysrq-trigger
sleep 5
EOF
chmod 755 "$folder" "$folder/init"
timeout 3000 linux.uml mem=3G root=none rootfstype=hostfs rootflags=/ rw init="$folder/init" \
    ubd0="$folder/disk" con=null con0=fd:0,fd:1 quiet </dev/null || true
[ "$(cat "$folder/status")" = 0 ]
