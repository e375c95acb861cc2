#include "sandbox/local/launcher/told.hpp"

#include "sandbox/base/descriptors.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace berth::local {
namespace {

// The message has one byte for each descriptor that it comes with.
constexpr char kind_spec = 's';
constexpr char kind_lifetime = 'l';
constexpr char kind_proxy = 'p';
constexpr std::size_t all_kinds = 3;

} // namespace

bool tell_guest(int socket, const Told& what)
{
    std::string kinds;
    std::vector<int> descriptors;
    const auto add = [&](char kind, int fd) {
        if (fd >= 0) {
            kinds += kind;
            descriptors.push_back(fd);
        }
    };
    add(kind_spec, what.spec);
    add(kind_lifetime, what.lifetime);
    add(kind_proxy, what.proxy);
    return send_descriptors(socket, kinds, descriptors);
}

std::optional<Heard> hear(int socket)
{
    auto message = receive_descriptors(socket, all_kinds);
    if (message.bytes.empty() || message.bytes.size() != message.descriptors.size()) {
        return std::nullopt;
    }
    Heard heard;
    for (std::size_t i = 0; i < message.bytes.size(); ++i) {
        const char kind = message.bytes[i];
        auto& part = kind == kind_spec       ? heard.spec
                     : kind == kind_lifetime ? heard.lifetime
                                             : heard.proxy;
        part = std::move(message.descriptors[i]);
    }
    return heard;
}

} // namespace berth::local
