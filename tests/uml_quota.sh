#!/usr/bin/env bash
# Project quotas as session.quota uses them, on ext4 and XFS, which many kernels are built without:
# User Mode Linux runs Debian's, with this host's files. Needs root and the packages user-mode-linux,
# e2fsprogs, kmod and xfsprogs; takes some minutes.
#   tests/uml_quota.sh BUILD-FOLDER
# shellcheck source=tests/uml_machine.sh
. "$(dirname "$0")/uml_machine.sh"

truncate -s 2G "$folder/ext4" "$folder/xfs"
mkfs.ext4 -q -O project,quota -E lazy_itable_init=1,quotatype=prjquota "$folder/ext4"
mkfs.xfs -q "$folder/xfs"
uml_run "$folder/ext4" "$folder/xfs" <<'EOF'
for module in quota_tree quota_v2; do
    insmod "/usr/lib/uml/modules/$(uname -r)/kernel/fs/quota/$module.ko"
done
parity() { python3 tests/parity/run.py "$@" || status=1; }

for disk in 'ext4 /dev/ubda' 'xfs /dev/ubdb'; do
    echo "== $disk"
    use_disk -o prjquota -t $disk
    parity cases._kernel_quota cases.terms.TermsTest.test_the_quota_is_raised_and_lowered \
        cases.terms.TermsTest.test_what_cannot_change_is_told
    parity --user 65534 cases.quota.QuotaTest.test_it_is_told
    "$build/server/berth" doctor --require quota >/tmp/said || status=1
    grep 'wrote more to the home than allowed; refused' /tmp/said || status=1
    leave_disk
done

# It counts here too, and keeps no limit.
echo '== ext4 without prjquota'
use_disk -t ext4 /dev/ubda
parity cases.quota.QuotaTest.test_it_is_told
! "$build/server/berth" doctor --require quota >/tmp/said 2>&1 || status=1
grep -q 'mounted without prjquota' /tmp/said && grep -q 'tune2fs -O project,quota' /tmp/said || status=1
EOF
