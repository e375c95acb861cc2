#include "sandbox/session/machine_reach.hpp"

#include <utility>

namespace berth::session {
namespace {

std::unique_ptr<sandbox::Sandbox> reach_key(sandbox::Backend& backend, Registry& registry,
                                            const std::optional<Place>& own, const std::string& key)
{
    const auto record = registry.find(key);
    if (!record) {
        return nullptr;
    }
    require_host(own, *record);
    return reach_machine(backend, *record);
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
    const auto sandbox = reach_key(backend, registry, own, key);
    return sandbox ? std::optional(sandbox->pause()) : std::nullopt;
}

std::optional<protocol::ResumeReply> resume_machine(sandbox::Backend& backend, Registry& registry,
                                                    const std::optional<Place>& own,
                                                    const std::string& key)
{
    const auto sandbox = reach_key(backend, registry, own, key);
    return sandbox ? std::optional(sandbox->resume()) : std::nullopt;
}

} // namespace berth::session
