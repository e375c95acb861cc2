#pragma once

#include "sandbox/sandbox.hpp"

#include <atomic>
#include <string_view>

namespace berth::sandbox {

/// Remembers whether anything was taken from it.
class WatchedSource {
  public:
    explicit WatchedSource(const DataSource* source)
    {
        if (source != nullptr) {
            watched_ = [this, source] {
                given_ = true;
                return (*source)();
            };
        }
    }

    WatchedSource(const WatchedSource&) = delete;
    WatchedSource& operator=(const WatchedSource&) = delete;
    ~WatchedSource() = default;

    /// Null where there is none.
    [[nodiscard]] const DataSource* get() const noexcept { return watched_ ? &watched_ : nullptr; }

    [[nodiscard]] bool given() const noexcept { return given_; }

  private:
    DataSource watched_;
    std::atomic<bool> given_ = false;
};

/// Remembers whether anything was handed on to it.
class WatchedSink {
  public:
    explicit WatchedSink(const DataSink* sink)
    {
        if (sink != nullptr) {
            watched_ = [this, sink](std::string_view data) {
                given_ = true;
                (*sink)(data);
            };
        }
    }

    WatchedSink(const WatchedSink&) = delete;
    WatchedSink& operator=(const WatchedSink&) = delete;
    ~WatchedSink() = default;

    /// Null where there is none.
    [[nodiscard]] const DataSink* get() const noexcept { return watched_ ? &watched_ : nullptr; }

    [[nodiscard]] bool given() const noexcept { return given_; }

  private:
    DataSink watched_;
    bool given_ = false; ///< by the thread that waits for the answer
};

} // namespace berth::sandbox
