#include "server/http/resource_metadata.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace berth::server::http {
namespace {

constexpr std::string_view well_known = "/.well-known/oauth-protected-resource";

/// What can stand between quotes in a header, and in an address.
bool is_plain(std::string_view text)
{
    return std::ranges::all_of(
        text, [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

} // namespace

ResourceMetadata::ResourceMetadata(const JwtOptions& options) : has_issuer_(options.is_wanted())
{
    const auto& resource = options.audience;
    const bool is_address = resource.starts_with("https://") || resource.starts_with("http://");
    if (!has_issuer_ || !is_address || !is_plain(resource)) {
        return;
    }
    const auto host_end = resource.find('/', resource.find("://") + 3);
    path_ = host_end == std::string::npos ? "" : resource.substr(host_end);
    path_ = path_ == "/" ? "" : path_.substr(0, path_.find_first_of("?#"));
    url_ = resource.substr(0, host_end) + std::string(well_known) + path_;
    document_ = nlohmann::json({{"resource", resource},
                                {"authorization_servers", {options.issuer}},
                                {"bearer_methods_supported", {"header"}},
                                {"resource_name", "berth"}})
                    .dump();
}

bool ResourceMetadata::serves(std::string_view path) const noexcept
{
    return !document_.empty() && path.starts_with(well_known) &&
           (path.size() == well_known.size() || path.substr(well_known.size()) == path_ ||
            path.substr(well_known.size()) == "/mcp");
}

std::string ResourceMetadata::challenge(bool has_token) const
{
    std::string text = "Bearer realm=\"berth\"";
    if (has_issuer_ && has_token) {
        text += ", error=\"invalid_token\"";
    }
    if (!url_.empty()) {
        text += ", resource_metadata=\"" + url_ + '"';
    }
    return text;
}

} // namespace berth::server::http
