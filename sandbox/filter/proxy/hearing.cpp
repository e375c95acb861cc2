#include "sandbox/filter/proxy/hearing.hpp"

#include "sandbox/filter/proxy/answers.hpp"
#include "sandbox/filter/request.hpp"

#include <array>
#include <cerrno>

#include <poll.h>

namespace berth::filter {

bool Hearing::read_more()
{
    std::array<char, 4096> buffer; // NOLINT(*-member-init): what was written to is read
    for (;;) {
        const auto [outcome, size] = stream_.receive(buffer);
        if (outcome == Stream::Outcome::moved) {
            bytes_.append(buffer.data(), size);
            return true;
        }
        if (outcome != Stream::Outcome::later) {
            return false;
        }
        pollfd waiting{stream_.descriptor(), stream_.events(POLLIN), 0};
        const int count = ::poll(&waiting, 1, deadline_.poll_timeout());
        if (count == 0 || (count < 0 && errno != EINTR)) {
            return false;
        }
    }
}

bool Hearing::has(std::size_t size)
{
    while (bytes_.size() < size) {
        if (!read_more()) {
            return false;
        }
    }
    return true;
}

std::string Hearing::take(std::size_t size)
{
    std::string taken = bytes_.substr(0, size);
    bytes_.erase(0, size);
    return taken;
}

std::optional<std::string> Hearing::message(SizeOf size_of)
{
    std::optional<std::size_t> size;
    while (!(size = size_of(bytes_))) {
        if (!read_more()) {
            return std::nullopt;
        }
    }
    if (!has(*size)) {
        return std::nullopt;
    }
    return take(*size);
}

std::optional<std::string> Hearing::head()
{
    std::size_t end = 0;
    while ((end = end_of_head(bytes_)) == std::string_view::npos) {
        if (bytes_.size() > longest_head) {
            throw BadRequest{.status = head_too_large,
                             .reason = "the head of the request is too long"};
        }
        if (!read_more()) {
            return std::nullopt;
        }
    }
    return take(end);
}

} // namespace berth::filter
