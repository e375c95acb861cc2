#include "tools/host_paths.hpp"

#include "sandbox/base/is_in.hpp"
#include "sandbox/base/visible.hpp"

#include <array>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::tools {
namespace {

/// The path with which `message` begins.
std::optional<std::string_view> path_of(std::string_view message)
{
    constexpr std::array<std::string_view, 2> ends{" does not exist", " is outside of "};
    for (const auto end : ends) {
        const auto at = message.find(end);
        if (at != message.npos && message.starts_with('/')) {
            return message.substr(0, at);
        }
    }
    return std::nullopt;
}

Error with_hint(const Error& error, const std::string& hint)
{
    Error other(error.code(), error.what(), hint);
    other.set_retryable(error.retryable());
    for (const auto& [key, value] : error.details()) {
        other.with_detail(key, value);
    }
    return other;
}

} // namespace

std::optional<std::string> path_in_sandbox(std::string_view message,
                                           const std::vector<sandbox::Mount>& mounts)
{
    const auto path = path_of(message);
    // What ".." leads to is not to be told by the text.
    if (!path || path->find("/../") != path->npos || path->ends_with("/..")) {
        return std::nullopt;
    }
    std::string source; // of a mount within another one's the inner
    std::string target;
    for (const auto& mount : mounts) {
        if (is_in(*path, visible(mount.target))) {
            return std::nullopt;
        }
        auto shown = visible(mount.source);
        if (shown.size() > source.size() && is_in(*path, shown)) {
            source = std::move(shown);
            target = visible(mount.target);
        }
    }
    return source.empty() ? std::nullopt
                          : std::optional(target + std::string(path->substr(source.size())));
}

Error in_paths_of_sandbox(Context& context, const Error& error)
{
    if (error.code() != ErrorCode::not_found && error.code() != ErrorCode::invalid_path) {
        return error;
    }
    try {
        const auto facts = context.sessions.facts(context.session);
        const auto there = path_in_sandbox(error.what(), facts.mounts);
        if (there) {
            return with_hint(
                error, "That is a path of the host. In the sandbox it is " + *there + '.' +
                           (error.hint().empty() ? "" : " If it is not meant so: " + error.hint()));
        }
    } catch (const std::exception&) {
        return error; // what is asked for is told all the same
    }
    return error;
}

} // namespace berth::tools
