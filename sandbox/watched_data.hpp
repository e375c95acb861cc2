#pragma once

#include <atomic>
#include <functional>
#include <utility>

namespace berth::sandbox {

/// Stands in for a source or a sink of data (sandbox/sandbox.hpp), and remembers whether anything
/// went through it.
template <class Function>
class Watched;

template <class Result, class... Arguments>
class Watched<std::function<Result(Arguments...)>> {
  public:
    using Function = std::function<Result(Arguments...)>;

    /// `function` outlives it; may be null.
    explicit Watched(const Function* function)
    {
        if (function != nullptr) {
            watched_ = [this, function](Arguments... arguments) {
                given_ = true;
                return (*function)(std::forward<Arguments>(arguments)...);
            };
        }
    }

    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    ~Watched() = default;

    /// Null where there is none.
    [[nodiscard]] const Function* get() const noexcept { return watched_ ? &watched_ : nullptr; }

    [[nodiscard]] bool given() const noexcept { return given_; }

  private:
    Function watched_;
    std::atomic<bool> given_ = false;
};

} // namespace berth::sandbox
