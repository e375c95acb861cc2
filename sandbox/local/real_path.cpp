#include "sandbox/local/real_path.hpp"

#include "sandbox/base/error.hpp"

#include <cstdlib>
#include <memory>

namespace berth::local {

std::string real_path(const std::string& path)
{
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           &std::free);
    if (!real) {
        throw_errno("resolve " + path);
    }
    return real.get();
}

} // namespace berth::local
