#pragma once

#include <atomic>
#include <cstdio>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace berth::tests {

/// Replaces a file by a rename, as fast as it can, with another that has the same content, until it
/// goes out of scope.
class Replacing {
  public:
    /// `next`: where the successor is written first.
    Replacing(std::string path, std::string next, std::string content)
        : path_(std::move(path)), next_(std::move(next)), content_(std::move(content)),
          thread_([this](const std::stop_token& stop) { run(stop); })
    {
        times_.wait(0);
    }

  private:
    void run(const std::stop_token& stop)
    {
        while (!stop.stop_requested()) {
            std::ofstream(next_) << content_;
            std::rename(next_.c_str(), path_.c_str());
            ++times_;
            times_.notify_one();
        }
    }

    const std::string path_;
    const std::string next_;
    const std::string content_;
    std::atomic<int> times_ = 0;
    std::jthread thread_;
};

} // namespace berth::tests
