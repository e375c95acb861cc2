#include "sandbox/guest/protection/protected_names.hpp"

#include "sandbox/base/is_in.hpp"

#include <algorithm>

namespace berth::guest {
namespace {

constexpr std::string_view home_mark = "~/";

/// Whether `rest`, a path below some folder, is what the name says, in that folder or deeper.
bool ends_as(std::string_view rest, std::string_view name, bool anywhere)
{
    if (!name.ends_with('/')) {
        return rest == name || (anywhere && rest.size() > name.size() && rest.ends_with(name) &&
                                rest[rest.size() - name.size() - 1] == '/');
    }
    if (is_example(rest)) {
        return false;
    }
    for (auto at = rest.find(name); at != std::string_view::npos; at = rest.find(name, at + 1)) {
        if (at == 0 || (anywhere && rest[at - 1] == '/')) {
            return true;
        }
    }
    return false;
}

} // namespace

std::vector<std::string> protected_roots(const protocol::GuestConfig& config)
{
    std::vector<std::string> roots{config.home};
    std::ranges::copy_if(config.writable_roots, std::back_inserter(roots),
                         [](const std::string& root) { return root != "/tmp"; });
    return roots;
}

bool is_example(std::string_view name) noexcept
{
    return name.ends_with(".sample");
}

bool is_in_whole_folder(std::string_view path, const protocol::Protection& protection)
{
    return std::ranges::any_of(protection.paths, [&](const std::string& name) {
        return name.ends_with('/') &&
               path.find("/" + name.substr(name.starts_with(home_mark) ? home_mark.size() : 0)) !=
                   std::string_view::npos;
    });
}

bool is_protected(std::string_view path, const protocol::Protection& protection,
                  const protocol::GuestConfig& config)
{
    for (const auto& root : protected_roots(config)) {
        if (path.size() <= root.size() + 1 || !is_in(path, root)) {
            continue;
        }
        const auto rest = path.substr(root.size() + 1);
        for (const std::string_view name : protection.paths) {
            const bool of_home = name.starts_with(home_mark);
            if ((!of_home || root == config.home) &&
                ends_as(rest, of_home ? name.substr(home_mark.size()) : name, !of_home)) {
                return true;
            }
        }
    }
    return false;
}

} // namespace berth::guest
