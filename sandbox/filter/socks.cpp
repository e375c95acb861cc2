#include "sandbox/filter/socks.hpp"

#include "sandbox/filter/byte_reader.hpp"

#include <array>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace berth::filter::socks {
namespace {

constexpr unsigned without_authentication = 0;
constexpr char nothing_fits = '\xff';
constexpr unsigned command_connect = 1;
constexpr unsigned type_v4 = 1;
constexpr unsigned type_name = 3;
constexpr unsigned type_v6 = 4;
constexpr std::size_t size_v4 = 4;
constexpr std::size_t size_v6 = 16;
constexpr std::size_t head_size = 4;
constexpr std::size_t port_size = 2;

std::string address_text(int family, std::string_view bytes)
{
    std::array<char, INET6_ADDRSTRLEN> text{};
    return ::inet_ntop(family, bytes.data(), text.data(), text.size());
}

Wanted refused(Reply refusal, std::string reason)
{
    return {.target = std::nullopt, .refusal = refusal, .reason = std::move(reason)};
}

} // namespace

std::optional<std::size_t> size_of_greeting(std::string_view bytes)
{
    ByteReader reader(bytes);
    (void)reader.number(1);
    const unsigned methods = reader.number(1);
    return reader.failed() ? std::nullopt : std::optional<std::size_t>(2 + methods);
}

Choice choose(std::string_view greeting)
{
    const bool takes =
        greeting.find(static_cast<char>(without_authentication), 2) != std::string_view::npos;
    return {.answer = {version, takes ? static_cast<char>(without_authentication) : nothing_fits},
            .takes = takes};
}

std::optional<std::size_t> size_of_request(std::string_view bytes)
{
    ByteReader reader(bytes);
    (void)reader.bytes(3);
    const unsigned type = reader.number(1);
    const unsigned first = reader.number(1);
    if (reader.failed()) {
        return std::nullopt;
    }
    switch (type) {
    case type_v4:
        return head_size + size_v4 + port_size;
    case type_v6:
        return head_size + size_v6 + port_size;
    case type_name:
        return head_size + 1 + first + port_size;
    default:
        return bytes.size();
    }
}

Wanted read_request(std::string_view request)
{
    ByteReader reader(request);
    const unsigned number = reader.number(1);
    const unsigned command = reader.number(1);
    (void)reader.number(1);
    const unsigned type = reader.number(1);
    if (number != static_cast<unsigned>(version)) {
        return refused(Reply::failed, "this is no request of SOCKS 5");
    }
    if (command != command_connect) {
        return refused(Reply::no_such_command, "of SOCKS it does connections alone");
    }
    std::string host;
    if (type == type_v4) {
        const auto bytes = reader.bytes(size_v4);
        host = reader.failed() ? "" : address_text(AF_INET, bytes);
    } else if (type == type_v6) {
        const auto bytes = reader.bytes(size_v6);
        host = reader.failed() ? "" : address_text(AF_INET6, bytes);
    } else if (type == type_name) {
        host = reader.bytes(reader.number(1));
    } else {
        return refused(Reply::no_such_address, "this kind of address is not known");
    }
    const auto port = static_cast<std::uint16_t>(reader.number(2));
    if (reader.failed() || !reader.done() || port == 0) {
        return refused(Reply::failed, "this is no request of SOCKS 5");
    }
    auto target = target_of(host, port);
    return target ? Wanted{.target = std::move(target)}
                  : refused(Reply::no_such_address, "the address is no name or IP address");
}

std::string answer(Reply reply)
{
    // The address that the proxy is bound to is nobody's concern.
    std::string bytes{version, static_cast<char>(reply), 0, static_cast<char>(type_v4)};
    bytes.append(size_v4 + port_size, '\0');
    return bytes;
}

std::string refusal_of_older()
{
    constexpr char rejected = 0x5b;
    std::string bytes{'\0', rejected};
    bytes.append(port_size + size_v4, '\0');
    return bytes;
}

} // namespace berth::filter::socks
