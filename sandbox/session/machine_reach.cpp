#include "sandbox/session/machine_reach.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/session/record_state.hpp"

#include <utility>

namespace berth::session {
namespace {

/// What `ask` says of the machine of the key; nothing where it has none that runs, or its machine
/// ends just then.
template <class Ask>
auto ask_machine(sandbox::Backend& backend, Registry& registry, const std::optional<Place>& own,
                 const std::string& key, const Ask& ask)
    -> std::optional<decltype(ask(std::declval<sandbox::Sandbox&>()))>
{
    const auto record = registry.find(key);
    if (!record) {
        return std::nullopt;
    }
    require_host(own, *record);
    require_backend(*record, backend.name());
    const auto sandbox = reach_machine(backend, *record);
    if (!sandbox) {
        return std::nullopt;
    }
    try {
        return ask(*sandbox);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::session_lost || backend.attach(record->machine)) {
            throw;
        }
        return std::nullopt;
    }
}

} // namespace

std::unique_ptr<sandbox::Sandbox> reach_machine(sandbox::Backend& backend, const Record& record)
{
    if (record.state != State::running || record.machine.backend != backend.name()) {
        return nullptr;
    }
    auto machine = backend.attach(record.machine);
    if (!machine) {
        return nullptr;
    }
    return std::make_unique<sandbox::Sandbox>(std::move(machine), record.token);
}

std::optional<protocol::PauseReply> pause_machine(sandbox::Backend& backend, Registry& registry,
                                                  const std::optional<Place>& own,
                                                  const std::string& key)
{
    return ask_machine(backend, registry, own, key,
                       [](sandbox::Sandbox& sandbox) { return sandbox.pause(); });
}

std::optional<protocol::ResumeReply> resume_machine(sandbox::Backend& backend, Registry& registry,
                                                    const std::optional<Place>& own,
                                                    const std::string& key)
{
    return ask_machine(backend, registry, own, key,
                       [](sandbox::Sandbox& sandbox) { return sandbox.resume(); });
}

} // namespace berth::session
