#include "sandbox/local/record_origin.hpp"

#include <sys/stat.h>

namespace berth::local {

bool is_of_copy(const MachineFacts& facts, const std::string& state)
{
    struct stat named{};
    struct stat own{};
    return !facts.state.empty() && facts.state != state &&
           ::stat(facts.state.c_str(), &named) == 0 && S_ISDIR(named.st_mode) &&
           (::stat(state.c_str(), &own) != 0 || named.st_dev != own.st_dev ||
            named.st_ino != own.st_ino);
}

} // namespace berth::local
