#include "server/options/out_of_reach.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/session/within_reach.hpp"

namespace berth::server {

void require_out_of_reach(const std::vector<std::string>& settings,
                          const std::vector<std::string>& secrets,
                          const std::vector<sandbox::Mount>& mounts)
{
    for (const auto& file : settings) {
        if (const auto part = session::writable_part(file, mounts); !part.empty()) {
            throw Error(ErrorCode::invalid_argument,
                        "the settings file " + visible(file) + " is within reach of the sandbox: " +
                            visible(part) + " may be written there",
                        "Commands could give themselves folders, secrets and the network of this "
                        "host with it. Mount the folder read-only, or keep the file elsewhere: "
                        "--config FILE, BERTH_CONFIG.");
        }
    }
    for (const auto& file : secrets) {
        if (const auto part = session::writable_part(file, mounts); !part.empty()) {
            throw Error(ErrorCode::invalid_argument,
                        "secret: the file " + visible(file) + " is within reach of the sandbox: " +
                            visible(part) + " may be written there",
                        "A command could put a link there, and be given any file that this server "
                        "may read. Mount the folder read-only, or keep the secret elsewhere.");
        }
    }
}

} // namespace berth::server
