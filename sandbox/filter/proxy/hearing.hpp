#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/filter/proxy/stream.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace berth::filter {

/// What a client says before it is connected, and what it is told meanwhile. Used by one thread.
class Hearing {
  public:
    /// `deadline`: of all that it says. `bytes`: have come already.
    Hearing(Stream& stream, const Deadline& deadline, std::string bytes = {})
        : stream_(stream), deadline_(deadline), bytes_(std::move(bytes))
    {
    }

    /// Of what it says from now on.
    void renew(const Deadline& deadline) noexcept { deadline_ = deadline; }

    [[nodiscard]] Stream& stream() const noexcept { return stream_; }

    /// That have come and were not taken yet.
    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

    [[nodiscard]] std::string take_all() { return std::exchange(bytes_, {}); }

    [[nodiscard]] std::string take(std::size_t size);

    /// False: no more come, or not in time.
    [[nodiscard]] bool read_more();

    /// So many are there.
    [[nodiscard]] bool has(std::size_t size);

    using SizeOf = std::optional<std::size_t> (*)(std::string_view bytes);

    /// The message that comes next, of which `size_of` says how long it is once it can. Nothing:
    /// not all of it comes.
    [[nodiscard]] std::optional<std::string> message(SizeOf size_of);

    /// The head of a request that comes next. Nothing: not all of it comes. Throws BadRequest where
    /// it is too long.
    [[nodiscard]] std::optional<std::string> head();

    /// Small, and mostly the first that is said: it fits into the socket.
    void say(std::string_view text) const noexcept { (void)stream_.send(text); }

    /// The same to one that is not listened to any more: it may be sending a body still, and has to
    /// be heard out for a moment to hear this.
    void say_last(std::string_view text) const noexcept
    {
        say(text);
        take_leave(stream_);
    }

  private:
    Stream& stream_;
    Deadline deadline_;
    std::string bytes_;
};

} // namespace berth::filter
