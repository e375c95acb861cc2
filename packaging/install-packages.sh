#!/bin/sh
# Makes sure that the Debian packages of the given lists are installed:
#   packaging/install-packages.sh packages.txt [packages-test.txt ...]
# As root it installs what is missing; otherwise it prints the command that would, and fails.
set -eu
cd "$(dirname "$0")"

wanted=$(cat "$@" | sed -e 's/#.*//' -e '/^[[:space:]]*$/d')
missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
    case $state in
    ii*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "berth: this script knows Debian's apt only. Install the equivalents of:$missing" >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "berth: these packages are missing and only root can install them:" >&2
    echo "    sudo apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi
echo "berth: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
# Everything goes to stderr: stdout may be an MCP client's pipe.
{
    apt-get update -q
    # shellcheck disable=SC2086 # a list on purpose
    apt-get install -y -q --no-install-recommends $missing
} >&2
