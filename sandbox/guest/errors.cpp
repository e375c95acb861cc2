#include "sandbox/guest/errors.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/protocol/wire.hpp"

#include <new>
#include <system_error>

namespace berth::guest {
namespace {

Error translate(const std::exception_ptr& error)
{
    try {
        std::rethrow_exception(error);
    } catch (const Error& known) {
        return known;
    } catch (const protocol::WireError& malformed) {
        return {ErrorCode::invalid_argument, std::string("malformed request: ") + malformed.what(),
                "end the session: a new one gets a guest of the server's version"};
    } catch (const std::bad_alloc&) {
        return {ErrorCode::too_large, "the call needs more memory than there is",
                "ask for less at once"};
    } catch (const std::system_error& system) {
        const Error known = errno_error(system.code().value(), "");
        return {known.code(), system.what(), known.hint()};
    } catch (const std::exception& other) {
        return {ErrorCode::internal, other.what()};
    } catch (...) {
        return {ErrorCode::internal, "an unknown failure"};
    }
}

} // namespace

std::string encode_error(const std::exception_ptr& error)
{
    const Error translated = translate(error);
    protocol::ErrorMessage message;
    message.code = to_string(translated.code());
    message.message = translated.what();
    message.hint = translated.hint();
    message.retryable = translated.retryable();
    message.details = translated.details();
    return protocol::encode(message);
}

std::string message_of(const std::exception_ptr& error)
{
    return translate(error).what();
}

} // namespace berth::guest
