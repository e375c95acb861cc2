#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/session/key.hpp"
#include "sandbox/session/registry.hpp"

#include <optional>
#include <string>

namespace berth::session {

/// Which session somebody means: the operator's template makes a key of what was given to
/// --session, but a list also shows sessions that no such name leads to. Makes and changes nothing;
/// thread-safe.
class KeyFinder {
  public:
    KeyFinder(sandbox::Backend& backend, Registry& registry);

    /// The key of a session that has a record: of `id`, which has to be of the name that was
    /// `shown` (a template without {session} makes the same key of any word, and whoever types
    /// another session's id must not end this one), else listed().
    [[nodiscard]] std::optional<std::string> find(const SessionId& id,
                                                  const std::string& shown) const;

    /// The key of a session that has a record and is shown so in a list: by its key, the id of its
    /// sandbox, or the name that was made up for an unnamed one.
    [[nodiscard]] std::optional<std::string> listed(const std::string& shown) const;

    /// The key, of `id` or itself `shown`, of a home on this host, without asking the books.
    [[nodiscard]] std::optional<std::string> of_home(const SessionId& id,
                                                     const std::string& shown) const;

  private:
    [[nodiscard]] bool is_named(const std::string& key, const std::string& shown) const noexcept;
    [[nodiscard]] bool is_shown_as(const std::string& key, const std::string& shown) const noexcept;

    sandbox::Backend& backend_;
    Registry& registry_;
};

} // namespace berth::session
