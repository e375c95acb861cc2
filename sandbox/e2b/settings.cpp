#include "sandbox/e2b/settings.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace berth::e2b {
namespace {

constexpr std::size_t longest_id = 128;

/// Domains whose proxy finds the sandbox by the two headers, so that one connection serves all of
/// them; at others its name is in the host's.
constexpr std::array<std::string_view, 4> shared_domains = {"e2b.app", "e2b.dev", "e2b.pro",
                                                            "e2b-staging.dev"};

std::optional<std::string> set_value(const Variables& variables, const std::string& name)
{
    auto value = variables(name);
    return value && !value->empty() ? value : std::nullopt;
}

std::string read_key(const Variables& variables)
{
    auto key = set_value(variables, "E2B_API_KEY");
    if (!key) {
        throw Error(
            ErrorCode::authentication_required, "E2B wants a key, and E2B_API_KEY is not set",
            "Make one at https://e2b.dev/dashboard (an account is free) and set E2B_API_KEY "
            "in the environment of the server. Until then `--backend local` runs the same "
            "tools in namespaces of this host, without an account.");
    }
    // A line end in it, as from `$(cat file)` of a file with two, would begin a header of its own.
    const bool plain =
        std::all_of(key->begin(), key->end(), [](char c) { return c > ' ' && c < '\x7f'; });
    if (!plain) {
        throw Error(
            ErrorCode::invalid_argument,
            "E2B_API_KEY has a blank, a line end or another character in it that no key has",
            "Set it to the key alone: e2b_ and hexadecimal digits.");
    }
    return *key;
}

} // namespace

std::optional<std::string> process_variable(const std::string& name)
{
    const char* value = std::getenv(name.c_str());
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

Settings read_settings(const Variables& variables)
{
    Settings settings;
    settings.api_key = read_key(variables);
    settings.domain = set_value(variables, "E2B_DOMAIN").value_or("e2b.app");
    if (!is_host_name(settings.domain)) {
        throw Error(ErrorCode::invalid_argument, "E2B_DOMAIN is not the name of a domain",
                    "Set it to a name alone, such as e2b.app, or leave it out.");
    }
    const auto api = set_value(variables, "E2B_API_URL");
    settings.api = api ? parse_endpoint(*api, "E2B_API_URL")
                       : Endpoint{.host = "api." + settings.domain, .prefix = {}};
    if (const auto sandbox = set_value(variables, "E2B_SANDBOX_URL")) {
        settings.sandbox = parse_endpoint(*sandbox, "E2B_SANDBOX_URL");
    }
    return settings;
}

Endpoint envd_endpoint(const Settings& settings, const std::string& sandbox_id,
                       const std::string& box_domain)
{
    if (settings.sandbox) {
        return *settings.sandbox;
    }
    const auto& domain = box_domain.empty() ? settings.domain : box_domain;
    // The token of the sandbox is sent there: not to whoever "x/@elsewhere" would lead to.
    if (!is_host_name(domain) || !is_sandbox_id(sandbox_id)) {
        throw Error(ErrorCode::backend_error,
                    "E2B named a sandbox or a domain that cannot be one; nothing was sent there",
                    "Look at E2B_API_URL: does it lead to E2B?");
    }
    const bool shared =
        std::find(shared_domains.begin(), shared_domains.end(), domain) != shared_domains.end();
    const auto name =
        shared ? std::string("sandbox") : std::to_string(envd_port) + '-' + sandbox_id;
    return {.host = name + '.' + domain, .prefix = {}};
}

bool is_sandbox_id(std::string_view text) noexcept
{
    return !text.empty() && text.size() <= longest_id && text.front() != '-' &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
           });
}

} // namespace berth::e2b
