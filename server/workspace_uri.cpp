#include "server/workspace_uri.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/percent.hpp"
#include "sandbox/base/small_letters.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::server {
namespace {

constexpr std::string_view scheme = "workspace://";
/// What ends the path of a URI, and what is in none.
constexpr std::string_view apart{"?#\0", 3};
using Type = std::pair<std::string_view, std::string_view>;

/// Those that clients show in a way of their own, and programs look for.
constexpr std::array types{
    Type{"css", "text/css"},
    Type{"csv", "text/csv"},
    Type{"gif", "image/gif"},
    Type{"gz", "application/gzip"},
    Type{"htm", "text/html"},
    Type{"html", "text/html"},
    Type{"ipynb", "application/x-ipynb+json"},
    Type{"jpeg", "image/jpeg"},
    Type{"jpg", "image/jpeg"},
    Type{"js", "text/javascript"},
    Type{"json", "application/json"},
    Type{"md", "text/markdown"},
    Type{"mp3", "audio/mpeg"},
    Type{"pdf", "application/pdf"},
    Type{"png", "image/png"},
    Type{"svg", "image/svg+xml"},
    Type{"tar", "application/x-tar"},
    Type{"txt", "text/plain"},
    Type{"wav", "audio/wav"},
    Type{"webp", "image/webp"},
    Type{"xml", "application/xml"},
    Type{"zip", "application/zip"},
};

} // namespace

std::string workspace_uri(std::string_view path)
{
    return std::string(scheme) + percent_encoded(path, "-._~/");
}

std::optional<std::string> workspace_path(std::string_view uri)
{
    if (!uri.starts_with(scheme)) {
        return std::nullopt;
    }
    const auto encoded = uri.substr(scheme.size());
    auto path =
        encoded.find_first_of(apart) == encoded.npos ? percent_decoded(encoded) : std::nullopt;
    if (!path) {
        constexpr std::size_t longest_shown = 256;
        throw Error(ErrorCode::invalid_argument,
                    "no URI of the workspace: " + visible_beginning(uri, longest_shown),
                    "It is workspace:/// and the path, with %, ?, # and what is no ASCII as %XX.");
    }
    return path;
}

std::string_view mime_type_of(std::string_view path)
{
    const auto name = path.substr(path.rfind('/') + 1);
    const auto dot = name.rfind('.');
    const auto end = dot == name.npos ? std::string() : in_small_letters(name.substr(dot + 1));
    const auto* const found = std::ranges::find(types, std::string_view(end), &Type::first);
    return found == types.end() ? std::string_view() : found->second;
}

} // namespace berth::server
