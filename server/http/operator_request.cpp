#include "server/http/operator_request.hpp"

#include "sandbox/base/percent.hpp"
#include "sandbox/base/split.hpp"
#include "server/options/session_name.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace berth::server::http {
namespace {

using transport::HttpError;
using What = OperatorRequest::What;

constexpr int bad_request = 400;
constexpr int not_found = 404;
constexpr int wrong_method = 405;
constexpr std::string_view sessions_path = "/sessions";

/// A path with {key} in it, taken apart.
struct Place {
    std::string_view key{};
    std::string_view verb{}; ///< pause, resume
};

struct Route {
    std::string_view method;
    What what;
};

/// The place below /sessions/; nothing: there is none of that form.
std::optional<Place> place_of(std::string_view path)
{
    if (!path.starts_with(sessions_path) || path.size() < sessions_path.size() + 2 ||
        path[sessions_path.size()] != '/') {
        return std::nullopt;
    }
    path.remove_prefix(sessions_path.size() + 1);
    const auto slash = path.find('/');
    const Place place{.key = path.substr(0, slash),
                      .verb = slash == std::string_view::npos ? "" : path.substr(slash + 1)};
    const bool known = place.verb == "pause" || place.verb == "resume";
    return place.key.empty() || (slash != std::string_view::npos && !known) ? std::nullopt
                                                                            : std::optional(place);
}

/// What there is at a path, by method; empty: nothing.
std::array<std::optional<Route>, 2> routes_at(std::string_view path)
{
    if (path == sessions_path) {
        return {Route{"GET", What::list}};
    }
    if (path == "/status") {
        return {Route{"GET", What::status}};
    }
    if (path == "/metrics") {
        return {Route{"GET", What::metrics}, Route{"HEAD", What::metrics}};
    }
    const auto place = place_of(path);
    if (!place) {
        return {};
    }
    if (place->verb.empty()) {
        return {Route{"GET", What::show}, Route{"DELETE", What::end}};
    }
    return {Route{"POST", place->verb == "pause" ? What::pause : What::resume}};
}

/// Of a query, where + is a blank.
std::string decoded(std::string_view text, bool is_query)
{
    std::string plain(text);
    if (is_query) {
        for (auto& c : plain) {
            c = c == '+' ? ' ' : c;
        }
    }
    auto found = percent_decoded(plain);
    if (!found || !is_showable(*found)) {
        throw HttpError(bad_request, "a part of the address is not UTF-8 of at most 256 bytes that "
                                     "can be shown, written with %XX");
    }
    return std::move(*found);
}

bool truth(const std::string& name, const std::string& value)
{
    if (value != "true" && value != "false") {
        throw HttpError(bad_request, name + " is neither true nor false");
    }
    return value == "true";
}

void take_parameter(OperatorRequest& request, const std::string& name, const std::string& value)
{
    const bool ends = request.what == What::end;
    const bool is_of_one = !request.key.empty();
    if (name == "backend" && request.what != What::metrics && !value.empty()) {
        request.backend = value;
    } else if (name == "principal" && is_of_one && !value.empty()) {
        request.principal = value;
    } else if (name == "purge" && ends) {
        request.purge = truth(name, value);
    } else if (name == "save" && ends) {
        request.save = truth(name, value);
    } else { // rather than to do half of what was meant
        throw HttpError(bad_request, "the parameter \"" + name +
                                         "\" is none here, or is empty; there are backend, for one "
                                         "session principal, and for DELETE purge and save");
    }
}

} // namespace

bool is_operators_path(std::string_view path) noexcept
{
    return path == sessions_path || path == "/status" || path == "/metrics" ||
           (path.starts_with(sessions_path) && path.substr(sessions_path.size()).starts_with('/'));
}

std::string allowed_methods(std::string_view path)
{
    std::string methods;
    for (const auto& route : routes_at(path)) {
        if (route) {
            methods += (methods.empty() ? "" : ", ") + std::string(route->method);
        }
    }
    return methods;
}

OperatorRequest read_operator_request(const transport::HttpHead& head)
{
    const auto routes = routes_at(head.path);
    if (!routes.front()) {
        throw HttpError(not_found, "there is nothing at this address: GET /sessions, GET or DELETE "
                                   "/sessions/KEY, POST /sessions/KEY/pause or resume, GET "
                                   "/status, GET /metrics");
    }
    OperatorRequest request;
    bool found = false;
    for (const auto& route : routes) {
        if (route && route->method == head.method) {
            request.what = route->what;
            found = true;
        }
    }
    if (!found) {
        throw HttpError(wrong_method, "only " + allowed_methods(head.path) + " is taken here");
    }
    if (const auto place = place_of(head.path)) {
        request.key = decoded(place->key, false);
    }
    std::set<std::string> taken;
    for (const auto part : split(head.query, '&')) {
        const auto equal = std::min(part.find('='), part.size());
        const auto name = decoded(part.substr(0, equal), true);
        take_parameter(request, name, decoded(part.substr(std::min(equal + 1, part.size())), true));
        // Of two principals one would be the wrong one's.
        if (!taken.insert(name).second) {
            throw HttpError(bad_request, "the parameter \"" + name + "\" is there twice");
        }
    }
    return request;
}

} // namespace berth::server::http
