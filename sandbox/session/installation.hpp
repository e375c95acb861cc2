#pragma once

#include <string>

namespace berth::session {

struct Settings;

/// What tells the machines that were made from this state directory with these books from those of
/// others, where somebody lists all of an account: 32 hex digits. One part of it is made up once
/// and kept in the state directory, beside the books, since it must outlive them; the others are
/// which host this is, for a copy of that directory on another, and where the books are, so that a
/// machine which files know is not judged by a Redis. Empty: nobody has
/// made it up, and `make` is false; or what is there cannot be read, and then no machine is marked.
[[nodiscard]] std::string installation_id(const Settings& settings, bool make);

} // namespace berth::session
