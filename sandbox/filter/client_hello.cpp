#include "sandbox/filter/client_hello.hpp"

#include "sandbox/filter/byte_reader.hpp"

namespace berth::filter {
namespace {

using State = ClientHello::State;

constexpr unsigned handshake_record = 22;
constexpr unsigned client_hello_type = 1;
constexpr unsigned server_name_extension = 0;
constexpr unsigned host_name_type = 0;
constexpr unsigned encrypted_client_hello_extension = 0xfe0d; // RFC 9849
constexpr unsigned encrypted_server_name_extension = 0xffce;  // its drafts

/// The one name of a server_name extension (RFC 6066, 3); false where it is none.
bool read_server_name(ByteReader extension, ClientHello& hello)
{
    ByteReader names = extension.part(2);
    const unsigned type = names.number(1);
    const auto name = names.bytes(names.number(2));
    if (extension.failed() || names.failed() || !names.done() || !extension.done() ||
        type != host_name_type || name.empty()) {
        return false;
    }
    hello.server_name = std::string(name);
    return true;
}

/// Of two extensions of one kind a server may take either.
bool read_extensions(ByteReader extensions, ClientHello& hello)
{
    while (!extensions.done()) {
        const unsigned type = extensions.number(2);
        const ByteReader body = extensions.part(2);
        if (extensions.failed()) {
            return false;
        }
        if (type == server_name_extension &&
            (hello.server_name || !read_server_name(body, hello))) {
            return false;
        }
        hello.encrypted = hello.encrypted || type == encrypted_client_hello_extension ||
                          type == encrypted_server_name_extension;
    }
    return true;
}

ClientHello read_body(std::string_view bytes)
{
    ClientHello hello;
    ByteReader reader(bytes);
    constexpr std::size_t version_and_random = 2 + 32;
    (void)reader.bytes(version_and_random);
    (void)reader.part(1); // session
    (void)reader.part(2); // cipher suites
    (void)reader.part(1); // compression
    // Without any of TLS 1.2 and before.
    const ByteReader extensions = reader.done() ? ByteReader({}) : reader.part(2);
    hello.state = reader.failed() || !reader.done() || !read_extensions(extensions, hello)
                      ? State::broken
                      : State::read;
    return hello;
}

ClientHello only(State state)
{
    ClientHello hello;
    hello.state = state;
    return hello;
}

} // namespace

ClientHello read_client_hello(std::string_view bytes)
{
    std::string message;
    ByteReader records(bytes);
    while (!records.done()) {
        if (records.number(1) != handshake_record) {
            return only(message.empty() ? State::no_tls : State::broken);
        }
        if (records.left() > 0 && records.number(1) != 3) {
            return only(State::no_tls);
        }
        (void)records.number(1); // of the version, which says nothing
        const unsigned size = records.number(2);
        if (records.failed()) {
            return only(State::incomplete);
        }
        if (size == 0) {
            return only(State::broken);
        }
        const bool whole = records.left() >= size;
        message += records.bytes(whole ? size : records.left());
        if (!message.empty() && static_cast<unsigned char>(message.front()) != client_hello_type) {
            return only(State::broken);
        }
        ByteReader head(message);
        (void)head.number(1);
        const unsigned length = head.number(3);
        if (!head.failed() && length > longest_client_hello) {
            return only(State::broken);
        }
        if (!head.failed() && head.left() >= length) {
            return read_body(head.bytes(length));
        }
        if (!whole) {
            return only(State::incomplete);
        }
    }
    return only(State::incomplete);
}

} // namespace berth::filter
