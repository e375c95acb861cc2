#include "sandbox/session/key.hpp"

#include "sandbox/base/sha256.hpp"

namespace berth::session {

std::string key_hash(const SessionId& id)
{
    // The length says where the principal ends: whoever may choose the session's name cannot write
    // a separator into it and land in the session of another principal.
    Sha256 hash;
    if (!id.key.empty()) {
        hash.update("berth session key 1\n");
        hash.update(id.key);
        return hash.finish();
    }
    hash.update("berth session 1\n");
    hash.update(std::to_string(id.principal.size()));
    hash.update(":");
    hash.update(id.principal);
    hash.update(id.session);
    return hash.finish();
}

bool is_key(std::string_view text) noexcept
{
    return text.size() == key_size &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

} // namespace berth::session
