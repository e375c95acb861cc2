#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace berth::e2b {

/// What comes is no stream of the Connect protocol: nothing that follows can be read.
class EnvelopeError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A piece of a stream of the Connect protocol: one byte of flags, four of length (the most
/// significant first), the payload.
struct Envelope {
    bool last = false; ///< the end-of-stream one, whose payload tells an error or none
    std::string payload;
};

/// Of the pieces of 32 KiB that envd sends, in base64 and JSON, none comes near it.
inline constexpr std::size_t largest_envelope = 8U << 20U;

/// Appends one to `out`. `payload`: at most 4 GiB less one.
void put_envelope(std::string& out, std::string_view payload);

/// Cuts a stream into envelopes, in whatever pieces it comes. Holds at most one envelope beyond
/// what was fed at once.
class EnvelopeReader {
  public:
    /// `limit`: the largest payload that is taken. A length is a promise of the other side's: who
    /// believed one of 4 GiB would have no memory left.
    explicit EnvelopeReader(std::size_t limit = largest_envelope) noexcept : limit_(limit) {}

    void feed(std::string_view bytes);

    /// The next whole envelope, or nothing yet. Throws EnvelopeError for flags that were not asked
    /// for (compression), a payload above the limit, as soon as its header is there, and for
    /// anything behind the last one.
    [[nodiscard]] std::optional<Envelope> next();

    /// Whether nothing is left that belongs to an envelope not yet whole.
    [[nodiscard]] bool empty() const noexcept { return buffer_.size() == consumed_; }

    /// Whether the last one has been given out.
    [[nodiscard]] bool ended() const noexcept { return ended_; }

  private:
    std::size_t limit_;
    std::string buffer_;
    std::size_t consumed_ = 0; ///< of the buffer
    bool ended_ = false;
};

} // namespace berth::e2b
