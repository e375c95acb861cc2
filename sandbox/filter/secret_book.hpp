#pragma once

#include "sandbox/filter/policy.hpp"
#include "sandbox/filter/secret_rule.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::filter {

/// A placeholder, and what a request to one target makes of it.
struct Replacement {
    std::string name; ///< of the variable
    std::string placeholder;
    std::string places; ///< all that the value may go to, for people
    bool is_for_target = false;
    bool takes_address = false;       ///< the target does, not only header fields
    std::optional<std::string> value; ///< only where it is for the target, and known
};

/// The secrets of a session that only its proxy puts in. Thread-safe.
class SecretBook {
  public:
    explicit SecretBook(const std::vector<WithheldSecret>& secrets);

    /// Without any nothing is ever replaced.
    [[nodiscard]] bool is_empty() const noexcept { return entries_.empty(); }

    /// From now on. Of a name that is not in the book, or a value that does not fit into a
    /// request: nothing.
    void set(std::string_view name, std::string_view value);

    /// For a request to it, with TLS or without. A value is in it for the target alone, so that a
    /// mistake of whoever replaces cannot send one elsewhere.
    [[nodiscard]] std::vector<Replacement> replacements(const Target& target, bool is_tls) const;

    /// To which TLS has to be opened.
    [[nodiscard]] std::vector<Target> tls_places() const;

    /// Whether some secret is for it.
    [[nodiscard]] bool is_place(const Target& target, bool is_tls) const;

  private:
    struct Entry {
        std::string name;
        std::string placeholder;
        std::vector<SecretPlace> places;
        std::optional<std::string> value;
    };

    mutable std::mutex mutex_; ///< guards the values
    std::vector<Entry> entries_;
};

} // namespace berth::filter
