#include "sandbox/local/doctor.hpp"

namespace berth::local {

std::vector<Check> run_doctor(sandbox::Backend& backend)
{
    const auto availability = backend.availability();
    return {{"sandbox", availability.available, availability.reason, availability.remedy}};
}

} // namespace berth::local
