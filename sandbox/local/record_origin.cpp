#include "sandbox/local/record_origin.hpp"

#include "sandbox/local/session_folder.hpp"

#include <cerrno>

#include <sys/stat.h>

namespace berth::local {

namespace {

/// Of the session in the state directory that the record names. One that cannot be looked at
/// counts: a copy may be in other hands than its original.
bool has_original(const MachineFacts& facts)
{
    struct stat status{};
    return ::stat(SessionFolder::path_of(facts.state, facts.folder).c_str(), &status) == 0 ||
           (errno != ENOENT && errno != ENOTDIR);
}

} // namespace

bool is_of_copy(const MachineFacts& facts, const std::string& state)
{
    struct stat named{};
    struct stat own{};
    return !facts.state.empty() && facts.state != state &&
           !SessionFolder::find_home(state, facts.folder).empty() && has_original(facts) &&
           ::stat(facts.state.c_str(), &named) == 0 && S_ISDIR(named.st_mode) &&
           (::stat(state.c_str(), &own) != 0 || named.st_dev != own.st_dev ||
            named.st_ino != own.st_ino);
}

sandbox::MachineRecord with_present_socket(const sandbox::MachineRecord& record,
                                           const std::string& state)
{
    const auto facts = facts_from(record);
    const auto before = facts.state + '/';
    auto present = record;
    if (!facts.state.empty() && facts.state != state && facts.socket_path.starts_with(before)) {
        present.data["socket"] = state + '/' + facts.socket_path.substr(before.size());
    }
    return present;
}

} // namespace berth::local
