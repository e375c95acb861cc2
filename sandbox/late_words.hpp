#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace berth::sandbox {

/// What is still to be said of answers whose connections are gone: that they were had, or that
/// nobody wants them. It goes with the next hello, so it costs no connection. Thread-safe.
class LateWords {
  public:
    /// Names of calls.
    struct Words {
        std::vector<std::string> seen;
        std::vector<std::string> declined;
    };

    /// In one hello, which has to stay below protocol::max_hello_size.
    static constexpr std::size_t most = 64;

    void seen(const std::string& call);
    void declined(const std::string& call);

    /// The oldest `most`. They are said again until told() says that they arrived.
    [[nodiscard]] Words some() const;
    void told(const Words& words);

    [[nodiscard]] std::size_t size() const;

  private:
    mutable std::mutex mutex_;
    Words words_; ///< guarded by mutex_
};

} // namespace berth::sandbox
