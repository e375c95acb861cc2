#include "sandbox/guest/microvm/connector.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/guest/microvm/relay.hpp"
#include "sandbox/protocol/opening.hpp"
#include "sandbox/protocol/opening_variables.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include <fcntl.h>

namespace berth::guest {
namespace {

using protocol::ConnectorEnd;

constexpr std::chrono::seconds connect_time{10};
constexpr std::size_t largest_key = 4096;

/// Nothing where it was made for another machine than this, or by somebody who has not its token.
std::optional<std::string> open_it(const std::string& folder, const Variable& variable)
{
    const auto sealed = protocol::opening_in_variables(variable);
    if (!sealed) {
        return std::nullopt;
    }
    const auto known = protocol::decode<protocol::ConnectorKey>(
        read_file_limited(AT_FDCWD, folder + '/' + protocol::residence::key, largest_key));
    protocol::OpeningKey key;
    if (known.key.size() != key.bytes.size()) {
        throw Error(ErrorCode::internal, "the key of the guest is damaged");
    }
    std::copy(known.key.begin(), known.key.end(), key.bytes.begin());
    return protocol::open_opening(key, known.generation, *sealed);
}

} // namespace

ConnectorEnd connect_to_resident(const std::string& folder, const ConnectorStreams& streams,
                                 const Variable& variable)
{
    UniqueFd guest;
    std::optional<std::string> opening;
    try {
        guest =
            connect_unix(folder + '/' + protocol::residence::socket, Deadline::after(connect_time));
        opening = open_it(folder, variable);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::session_lost) {
            throw;
        }
        return ConnectorEnd::nobody_there;
    }
    if (!opening) {
        return ConnectorEnd::not_opened;
    }
    return Relay(std::move(guest), *std::move(opening),
                 {.input = streams.input, .output = streams.output})
        .run();
}

} // namespace berth::guest
