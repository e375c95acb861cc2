#include "tools/host_paths.hpp"

#include "sandbox/base/visible.hpp"

#include <array>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace berth::tools {
namespace {

/// What follows `source` in the path with which `message` begins; nothing where it is another.
std::optional<std::string_view> rest_below(std::string_view message, std::string_view source)
{
    if (!message.starts_with(source)) {
        return std::nullopt;
    }
    message.remove_prefix(source.size());
    constexpr std::array<std::string_view, 2> ends{" does not exist", " is outside of "};
    for (const auto end : ends) {
        const auto at = message.find(end);
        if (at != message.npos && (at == 0 || message.front() == '/')) {
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

Error in_paths_of_sandbox(Context& context, const Error& error)
{
    if (error.code() != ErrorCode::not_found && error.code() != ErrorCode::invalid_path) {
        return error;
    }
    try {
        for (const auto& mount : context.sessions.facts(context.session).mounts) {
            const auto rest = rest_below(error.what(), visible(mount.source));
            if (rest && mount.source != mount.target) {
                return with_hint(error, "That is a path of the host. In the sandbox it is " +
                                            visible(mount.target) + std::string(*rest) + '.');
            }
        }
    } catch (const std::exception&) {
        return error; // what is asked for is told all the same
    }
    return error;
}

} // namespace berth::tools
