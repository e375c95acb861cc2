#include "sandbox/local/proxy_secrets.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/filter/policy.hpp"
#include "sandbox/protocol/wire.hpp"

#include <chrono>
#include <string_view>
#include <system_error>

#include <sys/socket.h>

namespace berth::local {
namespace {

/// Another server may be at it, for 5 s at most.
constexpr std::chrono::seconds patience_with_intake{10};

Error not_taken(const std::string& why)
{
    return Error(ErrorCode::sandbox_unavailable,
                 "the session's proxy does not take its secrets: " + why + "; nothing was run",
                 "Call again; if it stays so, end the session: the home is kept.")
        .set_retryable(true);
}

} // namespace

std::string secrets_socket_of(const std::string& socket_path)
{
    constexpr std::string_view suffix = ".sock";
    const auto end = socket_path.size() - (socket_path.ends_with(suffix) ? suffix.size() : 0);
    return socket_path.substr(0, end) + "-proxy" + std::string(suffix);
}

void bring_secrets(const std::string& socket_path, const std::map<std::string, std::string>& values)
{
    filter::SecretValues message;
    for (const auto& [name, value] : values) {
        message.values.push_back({.name = name, .value = value});
    }
    const auto deadline = Deadline::after(patience_with_intake);
    try {
        const auto connection = connect_unix(secrets_socket_of(socket_path), deadline);
        write_full(connection.get(), protocol::encode(message));
        ::shutdown(connection.get(), SHUT_WR);
        char answer = 0;
        if (!wait_readable(connection.get(), deadline) ||
            read_full(connection.get(), &answer, 1) != 1 || answer != filter::taken) {
            throw not_taken("it does not answer");
        }
    } catch (const Error& error) {
        if (error.code() == ErrorCode::backend_error) {
            throw not_taken(error.what());
        }
        if (error.code() != ErrorCode::session_lost) {
            throw;
        }
    } catch (const std::system_error& error) {
        throw not_taken(error.what());
    }
}

} // namespace berth::local
