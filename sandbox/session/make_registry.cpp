#include "sandbox/session/make_registry.hpp"

#include "sandbox/session/redis_registry.hpp"

namespace berth::session {

std::unique_ptr<Registry> make_registry(const Settings& settings, const sandbox::Backend& backend)
{
    if (!settings.redis) {
        return make_file_registry(settings.state_directory, backend.is_bound_to_host());
    }
    return make_redis_registry(*settings.redis, own_name(settings));
}

} // namespace berth::session
