#include "sandbox/guest/exec/oom_score.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace berth::guest {
namespace {

constexpr int highest = 1000; // OOM_SCORE_ADJ_MAX
constexpr const char* never = "-1000";
constexpr const char* zero = "0"; // the lowest for which nobody needs a privilege

/// Best effort: a guest that is not spared works all the same.
bool put(const UniqueFd& file, const std::string& value) noexcept
{
    const auto size = static_cast<ssize_t>(value.size());
    return file && ::pwrite(file.get(), value.data(), value.size(), 0) == size;
}

} // namespace

OomScore OomScore::of_this_process()
{
    OomScore score;
    UniqueFd file(::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
    std::array<char, 16> text{};
    const ssize_t size = file ? ::pread(file.get(), text.data(), text.size(), 0) : -1;
    int own = 0;
    if (size <= 0 || std::from_chars(text.data(), text.data() + size, own).ec != std::errc{}) {
        return score;
    }
    score.own_ = std::to_string(own);
    score.raised_ = std::to_string(std::min(own + more, highest));
    score.file_ = std::move(file);
    return score;
}

OomScore OomScore::spared()
{
    auto score = of_this_process();
    const bool is_positive = score.own_ > zero; // as texts
    if (put(score.file_, never)) {
        score.raised_ = std::exchange(score.own_, never);
    } else if (is_positive && put(score.file_, zero)) {
        score.raised_ = std::exchange(score.own_, zero);
    }
    return score;
}

// Children inherit the score, and cannot set it themselves: their files in /proc are root's until
// they run another program.
OomScore::Raised::Raised(const OomScore& score) noexcept : score_(score)
{
    (void)put(score_.file_, score_.raised_);
}

OomScore::Raised::~Raised()
{
    (void)put(score_.file_, score_.own_);
}

} // namespace berth::guest
