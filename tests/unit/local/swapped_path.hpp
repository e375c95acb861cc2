#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace berth::local::test {

/// What takes the place of a path in turn with what is there: whoever may rename it does so for as
/// long as this lives, as often as a thread can. Where the path is not there, nothing.
class SwappedPath {
  public:
    enum class With : unsigned char {
        link, ///< to `leads_to`
        pipe, ///< whom it is opened for waits
    };

    /// `leads_to` is absolute.
    SwappedPath(std::string path, With with, std::string leads_to);
    /// What was at the path is there again, if it still is at all.
    ~SwappedPath();
    SwappedPath(const SwappedPath&) = delete;
    SwappedPath& operator=(const SwappedPath&) = delete;

  private:
    void make_other() const;
    void run();

    const std::string path_;
    const With with_;
    const std::string leads_to_;
    const std::string other_; ///< what is not at the path at the moment
    std::atomic<bool> ending_ = false;
    std::thread thread_;
};

} // namespace berth::local::test
