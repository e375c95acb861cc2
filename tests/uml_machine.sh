# shellcheck shell=bash
# Debian's own kernel, run as a program (User Mode Linux) with this host's files. Sourced, with the
# build folder, by scripts that then give uml_run what is to happen there. Needs root and the package
# user-mode-linux.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath "$1")
folder=$(mktemp -d /tmp/berth-uml.XXXXXX)
# Each page of a process there may be a mapping of its own here. One that has more of them than this
# host allows is killed, which looks as if a limit had done it.
maps=/proc/sys/vm/max_map_count
maps_before=$(cat $maps)
trap 'rm -rf "$folder"; echo "$maps_before" >$maps' EXIT
[ "$maps_before" -ge 1048576 ] || echo 1048576 >$maps

# DISK..., files that are /dev/ubda and so on there; a bash script comes in, whose variable `status`
# is 0 at its end where all went well.
uml_run()
{
    local disks=() disk
    for disk in "$@"; do
        disks+=("ubd${#disks[@]}=$disk")
    done
    {
        cat <<EOF
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
# As an init makes them: the parity suite compares with a shell of this machine.
[ -e /dev/fd ] || { ln -s /proc/self/fd /dev/fd; for n in 0:stdin 1:stdout 2:stderr; do ln -s fd/\${n%:*} /dev/\${n#*:}; done; }
ip link set lo up
cd "$root"
root=$root build=$build
export BERTH_BINARY=$build/server/berth
# The files of the host have no owners that a guest kernel could change: what is written goes to a
# disk of its own, which mount(8) is told of.
use_disk()
{
    # Else what follows would be done to the files of the host.
    mount "\$@" /mnt || { echo "no disk: \$*"; echo o >/proc/sysrq-trigger; sleep 60; }
    for place in tmp var/tmp var/lib; do
        mkdir -p /mnt/\$place && chmod 1777 /mnt/\$place && mount --bind /mnt/\$place /\$place
    done
}
leave_disk()
{
    umount /tmp /var/tmp /var/lib /mnt
}
status=0
EOF
        cat
        cat <<'EOF'
echo $status >/run/result/status
sync
echo o >/proc/sysrq-trigger
sleep 5
EOF
    } >"$folder/init"
    chmod 755 "$folder" "$folder/init"
    rm -f "$folder/status"
    rm -f "$folder/xstate.so"
    cc -D_GNU_SOURCE -O2 -shared -fPIC -o "$folder/xstate.so" "$root/tests/uml_xstate.c" -ldl || return
    timeout 7200 env LD_PRELOAD="$folder/xstate.so" linux.uml mem=3G root=none rootfstype=hostfs rootflags=/ rw init="$folder/init" \
        "${disks[@]}" con=null con0=fd:0,fd:1 quiet </dev/null || true
    [ "$(cat "$folder/status")" = 0 ]
}
