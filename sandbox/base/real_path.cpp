#include "sandbox/base/real_path.hpp"

#include <cstdlib>
#include <memory>

namespace berth {

std::optional<std::string> real_path(const std::string& path)
{
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           &std::free);
    return real ? std::optional<std::string>(real.get()) : std::nullopt;
}

} // namespace berth
