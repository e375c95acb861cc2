#include "sandbox/filter/proxy/resolver.hpp"

#include "sandbox/base/small_letters.hpp"

#include <cerrno>
#include <system_error>

#include <netinet/in.h>
#include <resolv.h>
#include <sys/socket.h>

namespace berth::filter {
namespace {

/// Of this thread alone. With the host's search list a name would be asked for under others, which
/// no rule has seen: `git` as the git.corp.example that is denied, and where `ndots` says so an
/// allowed api.example as somebody's api.example.corp.example.
bool stop_searching()
{
    if (::res_init() != 0) {
        return false;
    }
    _res.options &= ~static_cast<unsigned long>(RES_DNSRCH | RES_DEFNAMES);
    _res.options |= RES_NORELOAD; // by which glibc would put them back
    return true;
}

Resolved look_up(const Target& target, const std::string& name)
{
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (target.address ? AI_NUMERICHOST : AI_CANONNAME);
    addrinfo* found = nullptr;
    const int code =
        ::getaddrinfo(name.c_str(), std::to_string(target.port).c_str(), &hints, &found);
    Resolved resolved;
    if (code != 0) {
        resolved.reason =
            code == EAI_SYSTEM ? std::generic_category().message(errno) : ::gai_strerror(code);
        return resolved;
    }
    resolved.addresses.reset(found);
    return resolved;
}

/// The names that it has gone by, but for the one that was asked for.
void name_in_full(Resolved& resolved, const std::string& asked, const std::string& found)
{
    const char* const canonical = resolved.addresses->ai_canonname;
    for (const auto& name : {found, in_small_letters(canonical == nullptr ? "" : canonical)}) {
        if (!name.empty() && name != asked) {
            resolved.full_names.push_back(name);
        }
    }
}

} // namespace

Resolved resolve(const Target& target, bool searches)
{
    if (target.address) {
        return look_up(target, target.name);
    }
    if (!stop_searching()) {
        return {.addresses = nullptr, .full_names = {}, .reason = "the resolver does not start"};
    }
    const bool is_short = target.name.find('.') == std::string::npos;
    auto resolved = look_up(target, target.name);
    std::string found = target.name;
    if (is_short && searches) {
        for (char* const* domain = _res.dnsrch; !resolved.addresses && *domain != nullptr;
             ++domain) {
            found = target.name + '.' + in_small_letters(*domain);
            auto searched = look_up(target, found);
            resolved.addresses = std::move(searched.addresses);
        }
    }
    if (is_short && resolved.addresses) {
        name_in_full(resolved, target.name, found);
    }
    return resolved;
}

} // namespace berth::filter
