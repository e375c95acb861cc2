// /proc/self/mountinfo, and where a folder can be seen: PATH ==== TREE ==== MOUNTINFO.

#include "sandbox/base/mount_table.hpp"

#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <string>

BERTH_FUZZ_TARGET(mount_table)
{
    using berth::fuzz::require;
    const auto [path, tree, text] = berth::fuzz::parts_of<3>(input);
    const auto table = berth::MountTable::parse(text);
    if (!path.starts_with('/') || !tree.starts_with('/')) {
        return;
    }
    const auto folder = table.pieces(std::string(path));
    const auto pieces = table.pieces(std::string(tree));
    for (const auto seen : {berth::Seen::whole, berth::Seen::in_part}) {
        const auto places = berth::seen_at(pieces, folder, seen);
        require(std::ranges::is_sorted(places), "places are sorted");
    }
}
