#pragma once

#include "server/options/file_watch.hpp"

#include <chrono>
#include <functional>
#include <string>

namespace berth::server::http {

/// A file by which a server knows who may call: whoever writes to it lets in whom he likes, as whom
/// he likes. Looked at again when it has changed, at most once a second; one that is wrong or gone
/// changes nothing, and is read again until it is right: what was wrong may have been elsewhere.
/// Not thread-safe.
class TrustFile {
  public:
    /// Told once for each state of the file and each reason, with what is wrong; empty: it holds.
    using Told = std::function<void(const std::string& error)>;
    /// Takes what the file says, and returns what is to be told of it; throws, having changed
    /// nothing, what is wrong.
    using Read = std::function<std::string()>;

    /// `what` is before its name in errors. What changes from here on is read again.
    TrustFile(std::string path, std::string what, Told changed);

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Throws Error(invalid_argument): others than its owner may write to it.
    void require_unwritable() const;

    /// Reads it again where it is time, and it has changed.
    void look(const Read& read);

  private:
    void read_again(const Read& read);

    const std::string path_;
    const std::string what_;
    const Told changed_;
    FileWatch watch_;
    std::string refused_; ///< why nothing of the file as it is holds; empty: it does
    std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

} // namespace berth::server::http
