#include "tools/claude/shown_path.hpp"

#include "sandbox/base/visible.hpp"
#include "tools/claude/dialect.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

namespace berth::tools::claude {

std::string shown_path(const nlohmann::json& arguments, const nlohmann::json& data,
                       std::string_view path)
{
    const auto* given_path = given(arguments, "path");
    std::string_view asked =
        given_path == nullptr ? std::string_view() : given_path->get_ref<const std::string&>();
    if (asked.starts_with('/') || asked.starts_with('~')) {
        return visible(path);
    }
    std::string_view root = data.at("root").get_ref<const std::string&>();
    if (root == "/") {
        root = {};
    }
    // Through a symbolic link, and where the root itself is no UTF-8.
    if (!path.starts_with(root) || (path.size() > root.size() && path[root.size()] != '/')) {
        return visible(path);
    }
    while (asked.ends_with('/')) {
        asked.remove_suffix(1);
    }
    while (asked.starts_with("./")) {
        asked.remove_prefix(2);
    }
    const auto below = path.substr(root.size());
    if (asked.empty() || asked == ".") {
        return visible(below.substr(below.empty() ? 0 : 1));
    }
    return visible(std::string(asked) + std::string(below));
}

} // namespace berth::tools::claude
