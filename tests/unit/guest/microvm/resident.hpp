#pragma once

#include "sandbox/protocol/frame.hpp"
#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/protocol/hello.hpp"
#include "sandbox/protocol/messages.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <map>
#include <string>
#include <vector>

namespace berth::tests {

/// How one of the guest's programs ended.
struct Ended {
    int status = -1; ///< its exit status; -1: it did not exit
    std::string output;
    std::string error;

    [[nodiscard]] std::vector<protocol::Frame> frames() const;
};

/// A microVM's folder, and its guest's program as a host uses it there; ends the guest. Needs root.
class Resident {
  public:
    Resident();
    ~Resident();
    Resident(const Resident&) = delete;
    Resident& operator=(const Resident&) = delete;

    /// Of user nobody, whose home is below().
    [[nodiscard]] protocol::GuestConfig config() const;
    void upload(const protocol::GuestConfig& config) const;
    [[nodiscard]] Ended reside() const;
    [[nodiscard]] Ended evict() const;

    [[nodiscard]] protocol::Hello hello() const;
    [[nodiscard]] std::map<std::string, std::string> seal(const std::string& opening) const;
    /// `input` comes behind what the variables have.
    [[nodiscard]] Ended connect(const std::map<std::string, std::string>& variables,
                                const std::string& input = "") const;

    /// What that command printed, and its exit code in a last line.
    [[nodiscard]] std::string run(const std::string& command) const;

    [[nodiscard]] std::string folder() const { return root_ / "run"; }

    [[nodiscard]] std::string home() const { return root_ / "home"; }

  private:
    TemporaryDirectory root_;
};

/// Frame by frame.
[[nodiscard]] std::string opening_of(const protocol::Hello& hello, protocol::Operation operation,
                                     const std::string& request);

} // namespace berth::tests
