#include "server/options/protection_options.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <string_view>

namespace berth::server {
namespace {

constexpr std::size_t longest = 255;
constexpr std::size_t most = 200;

/// Taken literally, what looks like a pattern would protect nothing.
bool is_name(std::string_view path)
{
    path.remove_prefix(path.starts_with("~/") ? 2 : 0);
    if (path.empty() || path.size() > longest || path.front() == '/' || path.front() == '~' ||
        path.find_first_of("*?[") != std::string_view::npos) {
        return false;
    }
    path.remove_suffix(path.ends_with('/') ? 1 : 0);
    for (;;) {
        const auto part = path.substr(0, path.find('/'));
        if (part.empty() || part == "." || part == "..") {
            return false;
        }
        if (part.size() == path.size()) {
            return true;
        }
        path.remove_prefix(part.size() + 1);
    }
}

} // namespace

protocol::Protection make_protection(const Layers& layers)
{
    const auto action = layers.choice("protected.action");
    const auto& paths = layers.raw("protected.paths");
    if (paths.items.size() > most) {
        throw Error(ErrorCode::invalid_argument,
                    "protected.paths (" + paths.origin + ") has more than " + std::to_string(most) +
                        " paths, and each command would look for all of them",
                    "Leave some out.");
    }
    const auto wrong = std::ranges::find_if_not(paths.items, is_name);
    if (wrong != paths.items.end()) {
        throw Error(ErrorCode::invalid_argument,
                    "protected.paths (" + paths.origin + "): " + visible(*wrong) +
                        " is no path of a file in a folder",
                    "NAME or FOLDER/NAME is protected in every folder, ~/NAME in the home, NAME/ "
                    "with all that is in it; there are no patterns.");
    }
    if (action == "off") {
        return {};
    }
    return {.paths = paths.items, .refuse = action == "refuse"};
}

} // namespace berth::server
