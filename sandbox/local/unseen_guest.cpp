#include "sandbox/local/unseen_guest.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/local/session_folder.hpp"

#include <chrono>

namespace berth::local {
namespace {

/// For a guest that was killed a moment ago, and what was forked of its maker.
constexpr std::chrono::seconds patience{2};

/// Empty: of none that could have a folder.
std::string key_of(const sandbox::MachineRecord& record)
{
    const auto key = record.data.find("key_hash");
    return key == record.data.end() || key->second.find('/') != std::string::npos ? std::string()
                                                                                  : key->second;
}

} // namespace

bool lives_unseen(const std::string& state, const std::string& key_hash,
                  const std::string& generation)
{
    return !key_hash.empty() &&
           SessionFolder::is_lived_in(state, key_hash, generation, Deadline::after({}));
}

bool lives_unseen(const std::string& state, const sandbox::MachineRecord& record)
{
    return lives_unseen(state, key_of(record), record.generation);
}

void require_none_unseen(const std::string& state, const std::string& key_hash,
                         const std::string& generation)
{
    if (key_hash.empty() ||
        !SessionFolder::is_lived_in(state, key_hash, generation, Deadline::after(patience))) {
        return;
    }
    throw Error(ErrorCode::sandbox_unavailable,
                "the sandbox of this session lives, and this berth cannot reach it: its process "
                "cannot be seen from here, so it runs in another container (or "
                "pid namespace) that shares the state directory " +
                    state,
                "Call a berth server there, or end it there with `berth sessions kill`; nothing of "
                "it was changed. Or use another session. Containers that do not see each other's "
                "processes and /run need a state directory each (--state-dir).");
}

void require_none_unseen(const std::string& state, const sandbox::MachineRecord& record)
{
    require_none_unseen(state, key_of(record), record.generation);
}

} // namespace berth::local
