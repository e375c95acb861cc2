#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace berth::transport {

/// Cuts a byte stream into lines in bounded memory: of a line longer than `limit` nothing is kept.
class LineReader {
  public:
    struct Events {
        std::function<void(std::string_view)> line;    ///< without its newline; blank ones left out
        std::function<void(std::string_view)> skipped; ///< the bytes of a line that is too long
        std::function<void()> too_long;                ///< its end
    };

    LineReader(std::size_t limit, Events events);

    /// Where to put the next bytes: at least `size` bytes, valid until the next call.
    [[nodiscard]] char* prepare(std::size_t size);
    /// `count` bytes were put there.
    void commit(std::size_t count);
    /// The stream ended: what follows the last newline is a line too.
    void finish();

  private:
    void scan();
    void emit(std::string_view line) const;

    std::size_t limit_;
    Events events_;
    std::string buffer_; ///< [0, end_) holds bytes
    std::size_t end_ = 0;
    std::size_t scanned_ = 0; ///< no newline before here
    bool skipping_ = false;   ///< inside a line that is too long; all of it so far was handed on
};

} // namespace berth::transport
