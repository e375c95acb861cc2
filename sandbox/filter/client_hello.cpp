#include "sandbox/filter/client_hello.hpp"

#include "sandbox/filter/byte_reader.hpp"

namespace berth::filter {
namespace {

using State = ClientHello::State;

constexpr unsigned first_record_type = 20; // change_cipher_spec, alert, handshake, application_data
constexpr unsigned last_record_type = 23;
constexpr unsigned alert_record = 21;
constexpr unsigned handshake_record = 22;
constexpr unsigned alert_size = 2;
constexpr unsigned major_version = 3;
constexpr unsigned first_of_no_server = 16; // of major versions
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

/// What a connection is by the first record of it. Servers look less closely than the standards
/// say: Go's takes a version of up to 15.255, and an alert in front of the handshake. Who may send
/// the one or the other could have the name behind it go unseen, as of what is no TLS.
State judge_beginning(unsigned type, unsigned major, ByteReader rest, unsigned size)
{
    const bool is_hello = type == handshake_record && size > 0;
    const unsigned message = is_hello ? rest.number(1) : 0;
    if (rest.failed()) {
        return State::incomplete;
    }
    if (is_hello && message == client_hello_type) {
        return State::read; // so far
    }
    const bool is_alert = type == alert_record && size == alert_size;
    return major == major_version || is_alert ? State::broken : State::no_tls;
}

} // namespace

ClientHello read_client_hello(std::string_view bytes)
{
    std::string message;
    ByteReader records(bytes);
    while (!records.done()) {
        const unsigned type = records.number(1);
        if (message.empty() ? type < first_record_type || type > last_record_type
                            : type != handshake_record) {
            return only(message.empty() ? State::no_tls : State::broken);
        }
        const unsigned major = records.number(1);
        if (message.empty() && major >= first_of_no_server) {
            return only(State::no_tls);
        }
        (void)records.number(1); // of the version, which says nothing
        const unsigned size = records.number(2);
        if (records.failed()) {
            return only(State::incomplete);
        }
        if (message.empty()) {
            const auto beginning = judge_beginning(type, major, records, size);
            if (beginning != State::read) {
                return only(beginning);
            }
        } else if (size == 0) {
            return only(State::broken);
        }
        const bool whole = records.left() >= size;
        message += records.bytes(whole ? size : records.left());
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
