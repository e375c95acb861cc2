#pragma once

#include "sandbox/base/sha256.hpp"
#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/files/temporary_file.hpp"
#include "sandbox/guest/files/write_target.hpp"
#include "sandbox/guest/quota/quota_share.hpp"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <sys/stat.h>

namespace berth::guest {

/// The new content of a file, which takes the old one's place at once and as a whole in commit().
///
/// Normally by rename. A file with several hard links, or with an owner that could not be kept, is
/// written in place instead (so that it stays one file, and whose it was): the new content is
/// complete on the same file system by then, room for it is reserved, and the old content is put
/// back when writing fails, or kept in a file of its own when that fails too. Commands that read it
/// in that moment see a mixture, calls of this guest do not; a kill in that moment leaves a
/// mixture, and the old content in a file beside it (TemporaryFile::expose()).
class Replacement {
  public:
    struct Options {
        /// Permission bits; else those of the old file, or 0644. Somebody else's file keeps its
        /// own.
        std::optional<unsigned> mode;
        bool exclusive = false;      ///< Error(conflict) when a file has appeared meanwhile
        bool only_unchanged = false; ///< Error(conflict) when the file was changed meanwhile
        bool restores = false;       ///< what was there before: no quota keeps it away
        /// A file that is moved: the new one gets its attributes, and its owner where that can be.
        const WriteTarget* moved = nullptr;
    };

    /// `target` and `context` must outlive it; the target's parents exist.
    Replacement(const WriteTarget& target, Options options, const CallContext& context);

    /// Throws Error(quota_exceeded) where the home has no room for so much, among others.
    void write(std::string_view piece);

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

    /// Returns the new content's hash. Once only. Throws Error.
    std::string commit(const CallContext& context);

  private:
    std::string put(const CallContext& context);
    [[nodiscard]] std::uint64_t goes() const noexcept;
    void require_unchanged() const;
    [[nodiscard]] bool take_owner(const WriteTarget& old) const;
    [[nodiscard]] bool take_attributes(const WriteTarget& old) const;
    /// Those of its permission bits that may stay.
    [[nodiscard]] unsigned take_what_can_be(const WriteTarget& moved) const;
    void write_in_place(const CallContext& context);
    [[nodiscard]] bool take_mode(int file, const struct stat& now) const;

    const WriteTarget& target_;
    Options options_;
    const std::stop_token stop_;
    QuotaShare share_;
    TemporaryFile temporary_;
    Sha256 hash_;
    std::uint64_t size_ = 0;
};

} // namespace berth::guest
