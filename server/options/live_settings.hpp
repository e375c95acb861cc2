#pragma once

#include "server/options/options.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <sys/types.h>

namespace berth::server {

/// The settings of a server whose settings file may change while it runs: those of the tools hold
/// from the next call on, the others from the server's next start. A file that is wrong, or gone,
/// changes nothing. Thread-safe.
class LiveSettings {
  public:
    /// What a changed file came to, for the log.
    struct Change {
        std::string file;
        std::string in_force; ///< keys, by comma: they hold now
        std::string later;    ///< these from the next start on
        std::string error;    ///< why nothing of it holds
    };

    /// `options`: made of `given` and `environment` just now. `changed` is called by whoever asks
    /// for the settings, once for each state of the file; must not throw.
    LiveSettings(Given given, Environment environment, const Options& options,
                 std::function<void(const Change&)> changed);

    /// Those in force. Looks at the file, at most once a second.
    [[nodiscard]] std::shared_ptr<const tools::Settings> tools();

  private:
    /// Which file it is, and of which state; equal: unchanged.
    struct Stamp {
        std::string path;
        dev_t device = 0;
        ino_t inode = 0;
        off_t size = -1;          ///< -1: there is none
        std::int64_t changed = 0; ///< ns since the epoch

        friend bool operator==(const Stamp&, const Stamp&) = default;
    };

    [[nodiscard]] Stamp stamp() const;
    void look();
    void read_again(const std::string& path);

    Given given_;
    const Environment environment_;
    const std::function<void(const Change&)> changed_;
    std::mutex mutex_; ///< guards what follows
    std::shared_ptr<const tools::Settings> tools_;
    std::map<std::string, std::string> values_; ///< by key, of what was told last
    std::chrono::steady_clock::time_point looked_;
    Stamp taken_; ///< the one in force, or one that was refused
    Stamp seen_;  ///< at the last look
};

} // namespace berth::server
