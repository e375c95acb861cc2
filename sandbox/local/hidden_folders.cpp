#include "sandbox/local/hidden_folders.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/mount_table.hpp"
#include "sandbox/local/own_folders.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

/// One of the trees that are shown, by its real path.
struct ShownTree {
    const Bind& bind;
    std::string path;
    std::vector<MountPiece> pieces;
};

/// Adds the names that lie in the tree, as they are inside. All that mounts give: one that is left
/// out is enough to read everything by. But not all of /usr: without it there is no sandbox.
void hide(const ShownTree& tree, const std::vector<std::string>& names, std::vector<Cover>& hidden)
{
    const std::size_t above = tree.path == "/" ? 0 : tree.path.size();
    for (const auto& name : names) {
        if (name != tree.path || tree.bind.optional) {
            hidden.push_back({name, tree.bind.target + name.substr(above)});
        }
    }
}

/// Whether it was missing.
bool make_now(const std::string& folder)
{
    struct stat status{};
    if (::stat(folder.c_str(), &status) == 0) {
        return false;
    }
    try {
        (void)open_or_make_directory(folder);
    } catch (const std::exception&) {
        return false; // whoever is the first to save something there hears why
    }
    return true;
}

bool is_own(const std::string& folder)
{
    struct stat status{};
    return ::stat(folder.c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

} // namespace

std::vector<Cover> find_hidden(const std::vector<Bind>& binds, const Private& wanted, bool* made)
{
    const auto mounts = MountTable::read();
    std::vector<std::pair<std::string, std::vector<MountPiece>>> own;
    own.reserve(wanted.folders.size());
    for (const auto& folder : wanted.folders) {
        own.emplace_back(folder, mounts.pieces(real_place(folder)));
    }
    auto home = mounts.pieces(wanted.home.empty() ? "" : real_place(wanted.home));
    home.resize(std::min<std::size_t>(home.size(), 1)); // what is mounted in it is another's
    const bool own_home = is_own(wanted.home);
    std::vector<Cover> hidden;
    for (const auto& bind : binds) {
        ShownTree tree{.bind = bind, .path = real_place(bind.source), .pieces = {}};
        tree.pieces = mounts.pieces(tree.path);
        for (const auto& [folder, pieces] : own) {
            const auto names = seen_at(tree.pieces, pieces);
            if (!names.empty() && make_now(folder) && made != nullptr) {
                *made = true;
            }
            hide(tree, names, hidden);
        }
        if (bind.optional || own_home) {
            hide(tree, seen_at(tree.pieces, home, Seen::whole), hidden);
        }
    }
    std::sort(hidden.begin(), hidden.end(),
              [](const Cover& a, const Cover& b) { return a.target < b.target; });
    hidden.erase(std::unique(hidden.begin(), hidden.end(),
                             [](const Cover& a, const Cover& b) { return a.target == b.target; }),
                 hidden.end());
    return hidden;
}

} // namespace berth::local
