#pragma once

#include <string_view>
#include <vector>

namespace berth::fuzz {

/// What is done with one input. Whatever it throws is a finding.
using Run = void (*)(std::string_view input);

struct Target {
    std::string_view name;
    Run run;
};

/// Those that are linked into this program.
[[nodiscard]] const std::vector<Target>& targets();

/// Makes a target known; for BERTH_FUZZ_TARGET.
class Registration {
  public:
    Registration(std::string_view name, Run run);
};

/// A property that does not hold is a finding: throws std::logic_error.
void require(bool holds, const char* property);

} // namespace berth::fuzz

/// Begins the function of a target. A macro, since every target of libFuzzer is one function of the
/// same name, and here all of them are linked into one program too.
#define BERTH_FUZZ_TARGET(name)                                                                    \
    static void fuzz_##name(std::string_view input);                                               \
    static const berth::fuzz::Registration registration_of_##name(#name, &fuzz_##name);            \
    static void fuzz_##name(std::string_view input)
