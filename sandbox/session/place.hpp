#pragma once

#include <optional>
#include <string>

namespace berth::session {

struct Record;

/// Where the machines of a host are, and their homes.
struct Place {
    std::string host_id; ///< no two hosts have the same; empty: it goes by its name
    std::string host;
    std::string state_directory;

    friend bool operator==(const Place&, const Place&) = default;
};

/// This host's: known by /etc/machine-id and its name, or by `name` alone where that is given.
/// `state_directory` is made free of links.
[[nodiscard]] Place this_place(const std::string& name, const std::string& state_directory);

/// Whether the session's machine is on another host than `own`. A record without a place is of a
/// machine that is reached from everywhere; without `own` no other host writes in the books.
[[nodiscard]] bool is_elsewhere(const std::optional<Place>& own, const Record& record);

/// Throw Error(sandbox_unavailable) that names where the session is: of another host, whose
/// machines can neither be reached nor told dead; and of a state directory that is not ours, in
/// which the home is that a fresh machine would have to have.
void require_host(const std::optional<Place>& own, const Record& record);
void require_place(const std::optional<Place>& own, const Record& record);

} // namespace berth::session
