#include "tests/fuzz/target.hpp"

#include <stdexcept>

namespace berth::fuzz {
namespace {

std::vector<Target>& known()
{
    static std::vector<Target> all; // made by the first of the registrations, whichever that is
    return all;
}

} // namespace

const std::vector<Target>& targets()
{
    return known();
}

Registration::Registration(std::string_view name, Run run)
{
    known().push_back({name, run});
}

void require(bool holds, const char* property)
{
    if (!holds) {
        throw std::logic_error(property);
    }
}

} // namespace berth::fuzz
