#include "server/options/out_of_reach.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/session/within_reach.hpp"

namespace berth::server {
namespace {

void require_each(const std::vector<std::string>& files, const std::vector<sandbox::Mount>& mounts,
                  const std::string& called, const std::string& hint)
{
    for (const auto& file : files) {
        if (const auto part = session::writable_part(file, mounts); !part.empty()) {
            throw Error(ErrorCode::invalid_argument,
                        called + ' ' + visible(file) + " is within reach of the sandbox: " +
                            visible(part) + " may be written there",
                        hint);
        }
    }
}

} // namespace

void require_out_of_reach(const std::vector<std::string>& settings,
                          const std::vector<std::string>& secrets,
                          const std::vector<sandbox::Mount>& mounts)
{
    require_each(
        settings, mounts, "the settings file",
        "Commands could give themselves folders, secrets and the network of this host with "
        "it. Mount the folder read-only, or keep the file elsewhere: --config FILE, "
        "BERTH_CONFIG.");
    require_each(secrets, mounts, "secret: the file",
                 "A command could put a link there, and be given any file that this server may "
                 "read. Mount the folder read-only, or keep the secret elsewhere.");
}

void require_own_out_of_reach(const std::vector<std::string>& files,
                              const std::vector<sandbox::Mount>& mounts)
{
    require_each(files, mounts, "the file",
                 "It says who may call this server, or what was done with it, and a command could "
                 "write it. Mount the folder read-only, or keep the file elsewhere.");
}

} // namespace berth::server
