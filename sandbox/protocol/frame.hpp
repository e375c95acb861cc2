#pragma once

// Frames between host and guest. Header of 8 bytes, little-endian:
//
//     u32 payload length | u8 FrameType | u8 flags | u16 operation (request only, else 0)
//
// A connection starts with hello / hello_reply. After that it carries one call at a time:
//
//     host:   request  data*(flag last)   ... cancel?          acknowledge?
//     guest:  (event | data)*             reply | error
//
// Which operations take or give `data` is said beside them in messages.hpp. An event holds an Event
// that the request asked for; a guest sends none while what it sent before has not been read. After
// reply or error the connection is free for the next call. An acknowledge says that a reply which
// asks for it (ExecuteReply::acknowledge) has reached whoever it is for; the next request says the
// same. A cancel in its place says that nobody wants that reply any more: what the call has left
// running is ended. Behind any other reply, which it has crossed, a cancel is ignored.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::protocol {

enum class FrameType : std::uint8_t {
    hello = 1,
    hello_reply = 2,
    request = 3,
    reply = 4,
    error = 5,
    event = 6,
    data = 7,
    cancel = 8,
    acknowledge = 9, ///< only to a guest that asked for it
};

inline constexpr std::size_t frame_header_size = 8;
/// Data travels in pieces of at most this many bytes.
inline constexpr std::size_t max_data_size = 256UL * 1024;
/// An event, whatever a newer guest may have to tell.
inline constexpr std::size_t max_event_size = 64UL * 1024;
/// A request (with the text of a write or an edit in it) or a reply.
inline constexpr std::size_t max_payload_size = 64UL * 1024 * 1024;
/// Before the hello nobody has shown a token, so little is believed.
inline constexpr std::size_t max_hello_size = 4096;

inline constexpr std::uint8_t flag_last = 1; ///< on data: nothing follows
/// On a reply: there are outcomes that nobody was told of (InfoRequest::claim_unseen). A server
/// that was there before the one which asked for them was killed learns of them so.
inline constexpr std::uint8_t flag_unseen = 2;

struct Frame {
    FrameType type = FrameType::error;
    std::uint8_t flags = 0;
    std::uint16_t operation = 0;
    std::string payload;
};

/// Appends the header of a frame to `out`; `size` bytes of payload have to follow.
void put_header(std::string& out, FrameType type, std::size_t size, std::uint16_t operation = 0,
                std::uint8_t flags = 0);

/// Appends the header and payload to `out`.
void put_frame(std::string& out, FrameType type, std::string_view payload,
               std::uint16_t operation = 0, std::uint8_t flags = 0);

struct FrameHeader {
    FrameType type = FrameType::error;
    std::uint8_t flags = 0;
    std::uint16_t operation = 0;
    std::uint32_t size = 0; ///< of the payload
};

/// Of the `frame_header_size` bytes that `bytes` begins with. Throws WireError for an unknown type.
[[nodiscard]] FrameHeader read_header(std::string_view bytes);

/// Cuts a byte stream into frames. Buffers at most one frame beyond what was fed at once; a large
/// one is in memory once.
class FrameReader {
  public:
    /// `limit`: the largest payload that is accepted; can be raised after the hello.
    explicit FrameReader(std::size_t limit) noexcept : limit_(limit) {}

    void set_limit(std::size_t limit) noexcept { limit_ = limit; }

    void feed(std::string_view bytes);

    /// The next whole frame, or nothing yet. Throws WireError for an unknown type or a payload
    /// above the limit, as soon as the header is there.
    [[nodiscard]] std::optional<Frame> next();

    [[nodiscard]] bool empty() const noexcept { return !large_ && buffer_.size() == consumed_; }

    struct Announced {
        FrameType type;
        std::uint16_t operation;
        std::size_t size; ///< of the payload, which is above max_data_size
    };

    /// The large frame of which next() has seen the header, but not yet the end.
    [[nodiscard]] std::optional<Announced> announced() const noexcept;

  private:
    [[nodiscard]] std::optional<Frame> next_large();
    void drop_consumed();

    std::size_t limit_;
    std::optional<Frame> large_; ///< its payload so far
    std::size_t large_size_ = 0;
    std::string buffer_;
    std::size_t consumed_ = 0;
};

} // namespace berth::protocol
