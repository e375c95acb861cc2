#pragma once

#include <cstdint>
#include <optional>

namespace berth::guest {

/// Whether commands have made the home too large, from one count to the next. A home that has more
/// than its limit already must not grow, but whoever deletes in it may work. Without a clock.
class QuotaLevel {
  public:
    enum class Verdict : unsigned char {
        fine,
        doubtful, ///< to be counted again at once: what is moved meanwhile is counted twice
        exceeded,
    };

    /// Growth of a home above its limit that nobody is stopped for: what others write while one is
    /// being stopped, a line of a log, a directory.
    static constexpr std::uint64_t slack = 1024UL * 1024;

    explicit QuotaLevel(std::uint64_t limit) : limit_(limit) {}

    /// Another than before: the next count tells where commands stand.
    void set_limit(std::uint64_t limit)
    {
        if (limit != limit_) {
            limit_ = limit;
            forgive();
        }
    }

    /// Commands begin where none ran. `used`: by then; nothing when that is not known, so the first
    /// count tells.
    void begin(std::optional<std::uint64_t> used);

    /// A command was stopped: what the next count finds is where the others stand.
    void forgive() { begin(std::nullopt); }

    [[nodiscard]] Verdict judge(std::uint64_t used);

    /// Of a home that has more than its limit, what it may still grow by until it has less again:
    /// the slack, once, and not with each command that is over before it is judged. Nothing of one
    /// that has room.
    [[nodiscard]] std::optional<std::uint64_t> rest_of_slack(std::uint64_t used);

  private:
    [[nodiscard]] std::uint64_t allowed() const noexcept;

    std::uint64_t limit_;
    std::optional<std::uint64_t> level_; ///< at least the limit
    std::optional<std::uint64_t> full_;  ///< what it had when it was first found to have too much
    bool doubt_ = false;
};

} // namespace berth::guest
