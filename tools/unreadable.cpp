#include "tools/unreadable.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

namespace berth::tools {

std::string unreadable_phrase(std::uint64_t count, const std::vector<std::string>& paths)
{
    if (count == 0) {
        return {};
    }
    std::string text = thousands(count) + " could not be read";
    const char* separator = ": ";
    for (const std::string& path : paths) {
        text += separator + visible(path);
        separator = ", ";
    }
    return text + (count > paths.size() && !paths.empty() ? ", …" : "");
}

nlohmann::json sanitized(const std::vector<std::string>& paths)
{
    auto all = nlohmann::json::array();
    for (const std::string& path : paths) {
        all.push_back(utf8::sanitize(path));
    }
    return all;
}

} // namespace berth::tools
