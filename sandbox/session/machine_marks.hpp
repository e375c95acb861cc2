#pragma once

#include <optional>
#include <string>
#include <vector>

// Which sessions of a state directory may have a machine, and whose they are, without reading a
// record: who makes a machine has to count the others, and there may be thousands. The mark of a
// session is the link <state>/marks/<key>, which leads nowhere and says whose it is. A session
// that has a machine has a mark; one that has none may have one too, of a server that was killed,
// or of a machine whose end nobody has noticed yet: its record tells.
//
// `state`: an open directory that only berth can write.

namespace berth::session {

/// A principal may be anything; this is a name.
[[nodiscard]] std::string principal_tag(const std::string& principal);

/// Before the record says that there is a machine, under the session's lock. Throws
/// std::system_error.
void set_mark(int state, const std::string& key, const std::string& principal);

/// After the record has said that there is none. What stays costs a look at the record.
void clear_mark(int state, const std::string& key) noexcept;

/// The keys of the marks, in no order. Nothing in a state directory where nobody has said that they
/// are complete: servers of earlier releases set none.
[[nodiscard]] std::optional<std::vector<std::string>> marked_keys(int state);

/// From now on they are: every session that has a machine is marked.
void marks_are_complete(int state);

/// Of the keys those whose mark does not say that the session is another principal's.
[[nodiscard]] std::vector<std::string> marked_as_of(int state, const std::string& principal,
                                                    const std::vector<std::string>& keys);

} // namespace berth::session
