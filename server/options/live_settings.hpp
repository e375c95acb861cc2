#pragma once

#include "server/options/file_watch.hpp"
#include "server/options/options.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace berth::server {

/// Whether a change of the setting holds while its server runs.
[[nodiscard]] bool is_live(std::string_view key);

/// The settings of a server whose settings file may change while it runs: those of the tools and of
/// the session's machine hold from the next call on, the others from the server's next start. A
/// file that is wrong, or gone, changes nothing. What was wrong may have been beside the file, as a
/// folder that it mounts: it is tried again. Thread-safe.
class LiveSettings {
  public:
    /// What a changed file came to, for the log.
    struct Change {
        std::string file;
        std::string in_force; ///< keys, by comma: they hold now
        std::string later;    ///< these from the next start on
        std::string error;    ///< why nothing of it holds
        std::string hint;     ///< and what helps

        [[nodiscard]] bool is_empty() const noexcept
        {
            return in_force.empty() && later.empty() && error.empty();
        }
    };

    using Told = std::function<void(const Change&)>;
    /// Throws Error for settings with which a server would not start, as with what the operator
    /// insists on.
    using Check = std::function<void(const Options&)>;

    /// `options`: made of `given` and `environment` just now. `changed` is called by whoever asks
    /// for the settings, once for each state of the file, and for each reason why nothing of it
    /// holds; must not throw. `check`: before what it says of machines holds.
    LiveSettings(Given given, Environment environment, const Options& options, Told changed,
                 Check check);

    /// Those in force; the same object for as long as nothing has changed. Looks at the file, at
    /// most once a second.
    [[nodiscard]] std::shared_ptr<const Options> options();

  private:
    void look();
    void read_again(const std::string& path);
    [[nodiscard]] bool is_due_again() const;
    [[nodiscard]] std::map<std::string, std::string>
    tell_later(Change& change, const std::shared_ptr<const RawValues>& file) const;
    /// `of_machine`: whether anything of machines is among what has changed.
    [[nodiscard]] Options changed_options(Change& change, bool& of_machine) const;

    Given given_;
    const Environment environment_;
    const Told changed_;
    const Check check_;
    std::mutex mutex_; ///< guards what follows
    std::shared_ptr<const Options> options_;
    std::map<std::string, std::string> said_; ///< by key, what the file came to when it was told
    std::chrono::steady_clock::time_point looked_;
    FileWatch watch_;
    bool is_first_ = true;
    std::string refused_; ///< why nothing of the file as it is holds; empty: it does
    std::chrono::steady_clock::time_point tried_; ///< when it was read last
    std::chrono::seconds retry_{0};               ///< after how long it is tried again
};

} // namespace berth::server
