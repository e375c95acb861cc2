#include "tools/denial_report.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

namespace berth::tools {

nlohmann::json denials_data(const std::vector<protocol::Denial>& denials)
{
    auto list = nlohmann::json::array();
    for (const auto& denial : denials) {
        list.push_back({{"kind", utf8::sanitize(denial.kind)},
                        {"target", utf8::sanitize(denial.target)},
                        {"reason", utf8::sanitize(denial.reason)},
                        {"remedy", utf8::sanitize(denial.remedy)},
                        {"count", denial.count}});
    }
    return list;
}

std::string denials_text(const nlohmann::json& denials)
{
    std::string text;
    for (const auto& denial : denials) {
        const auto part = [&](const char* name) {
            return visible(denial.at(name).get_ref<const std::string&>());
        };
        const auto target = part("target");
        const auto count = denial.at("count").get<std::uint64_t>();
        text += text.empty() ? "" : "\n";
        text += "[the network denied " + (target.empty() ? "a request" : target) +
                (count > 1 ? ", " + counted(count, "time") : "") + ": " + part("reason") + ". " +
                part("remedy") + "]";
    }
    return text;
}

} // namespace berth::tools
