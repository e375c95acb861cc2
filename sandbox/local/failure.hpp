#pragma once

#include "sandbox/local/launch_spec.hpp"

#include <cerrno>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace berth::local {

/// A step of the launch that failed: the kernel's answer together with where it was given. Becomes
/// a LaunchResult.
class Failure : public std::runtime_error {
  public:
    Failure(std::string step, int error, const std::string& text)
        : std::runtime_error(text), step_(std::move(step)), error_(error)
    {
    }

    [[nodiscard]] const std::string& step() const noexcept { return step_; }

    [[nodiscard]] int error() const noexcept { return error_; }

  private:
    std::string step_;
    int error_;
};

/// Of a launch in which it happened.
[[nodiscard]] inline LaunchResult to_result(const Failure& failure)
{
    LaunchResult result;
    result.step = failure.step();
    result.error = failure.error();
    result.text = failure.what();
    return result;
}

/// Of any exception: `step` is where it came from if it does not say so itself.
[[nodiscard]] inline LaunchResult to_result(const std::exception& error, const char* step)
{
    if (const auto* failure = dynamic_cast<const Failure*>(&error)) {
        return to_result(*failure);
    }
    LaunchResult result;
    result.step = step;
    if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
        result.error = system->code().value();
    }
    result.text = error.what();
    return result;
}

/// Throws Failure for the present errno unless `ok`.
inline void require(bool ok, const char* step, const std::string& text)
{
    if (!ok) {
        throw Failure(step, errno, text);
    }
}

} // namespace berth::local
