#include "sandbox/e2b/api_json.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/e2b/json_text.hpp"
#include "sandbox/e2b/settings.hpp"

#include <nlohmann/json.hpp>

namespace berth::e2b {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& why)
{
    throw Error(ErrorCode::backend_error, "E2B answered what berth does not understand: " + why,
                "Look at E2B_API_URL: does it lead to E2B, and to a version of this year?");
}

json document(std::string_view body)
{
    auto value = parse_json(body);
    if (!value) {
        refuse(std::to_string(body.size()) + " bytes that are no JSON");
    }
    return std::move(*value);
}

Box box_in(const json& value)
{
    if (!value.is_object()) {
        refuse("a sandbox that is no object");
    }
    Box box{.id = text_at(value, "sandboxID"),
            .template_id = text_at(value, "templateID"),
            .envd_version = text_at(value, "envdVersion"),
            .envd_token = text_at(value, "envdAccessToken"),
            .domain = text_at(value, "domain")};
    // It goes into the path of the next request.
    if (!is_sandbox_id(box.id)) {
        refuse("a sandbox without an id, or with one that cannot be one");
    }
    return box;
}

BoxInfo info_in(const json& value)
{
    BoxInfo info{.box = box_in(value),
                 .started_at = text_at(value, "startedAt"),
                 .end_at = text_at(value, "endAt")};
    const auto state = text_at(value, "state");
    if (state == "running" || state == "paused") {
        info.state = state == "running" ? BoxState::running : BoxState::paused;
    }
    if (const auto found = value.find("lifecycle"); found != value.end() && found->is_object()) {
        info.ends_at_limit = text_at(*found, "onTimeout") == "kill";
    }
    if (const auto found = value.find("metadata"); found != value.end() && found->is_object()) {
        for (const auto& [key, text] : found->items()) {
            if (text.is_string()) {
                info.metadata.emplace(key, text.get<std::string>());
            }
        }
    }
    return info;
}

} // namespace

std::string create_body(const BoxRequest& request, ApiVersion version)
{
    json body = {{"templateID", request.template_id},
                 {"timeout", request.timeout.count()},
                 {"autoPause", request.auto_pause}};
    if (!request.metadata.empty()) {
        body["metadata"] = request.metadata;
    }
    if (!request.environment.empty()) {
        body["envVars"] = request.environment;
    }
    if (!request.network.internet) {
        body["allow_internet_access"] = false;
    }
    if (!request.network.allow_out.empty()) {
        body["network"]["allowOut"] = request.network.allow_out;
    }
    if (!request.network.deny_out.empty()) {
        body["network"]["denyOut"] = request.network.deny_out;
    }
    if (version == ApiVersion::v1) {
        // Without it whoever guesses the id has a shell in it: its envd asks for no token then.
        body["secure"] = true;
    }
    return json_text(body);
}

std::string timeout_body(std::chrono::seconds timeout)
{
    return json_text({{"timeout", timeout.count()}});
}

std::string network_body(const BoxNetwork& network)
{
    return json_text({{"allowOut", network.allow_out},
                      {"denyOut", network.deny_out},
                      {"allow_internet_access", network.internet}});
}

Box parse_box(std::string_view body)
{
    return box_in(document(body));
}

BoxInfo parse_info(std::string_view body)
{
    return info_in(document(body));
}

std::vector<BoxInfo> parse_list(std::string_view body)
{
    const auto value = document(body);
    if (!value.is_array()) {
        refuse("a list that is none");
    }
    std::vector<BoxInfo> boxes;
    for (const auto& each : value) {
        boxes.push_back(info_in(each));
    }
    return boxes;
}

} // namespace berth::e2b
