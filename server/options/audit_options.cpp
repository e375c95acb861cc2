#include "server/options/audit_options.hpp"

#include "server/options/paths.hpp"

namespace berth::server {

AuditOptions make_audit_options(const Layers& layers)
{
    const auto path = layers.text("audit_log");
    const auto command = layers.choice("audit_command");
    return {.path = path.empty() ? path : absolute_path(path),
            .command = command == "text"   ? AuditOptions::Command::text
                       : command == "hash" ? AuditOptions::Command::hash
                                           : AuditOptions::Command::none};
}

} // namespace berth::server
