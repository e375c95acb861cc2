#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace berth::local {

/// Of one argument of a call. Values are compared as the kernel reads them: an int is the low half
/// of a register, and a rule on all 64 bits would be walked around by setting one of the upper
/// ones.
struct Argument {
    enum class Test : std::uint8_t {
        none,
        equals,   ///< the low 32 bits
        has_bits, ///< all of `value`
        above,    ///< all 64 bits
        not_zero, ///< all 64 bits
    };
    Test test = Test::none;
    unsigned index = 0;
    std::uint64_t value = 0;
};

/// A call that is answered with `error`, where all of its tests hold.
struct SyscallRule {
    int number = 0; ///< negative: this architecture has it not
    int error = 0;
    std::array<Argument, 2> tests{};
};

/// All that is refused of the calls that a kernel may know. docs/security.md has the same list with
/// the reasons, tests/escape/syscalls.tsv what becomes of each number; both are held to each other
/// by a test. `forbid_namespaces`: clone3 too, whose flags are in memory, where no filter looks.
[[nodiscard]] std::vector<SyscallRule> refused_calls(bool forbid_namespaces);

/// The youngest call that is known here (file_setattr, Linux 6.17). What is above is answered with
/// ENOSYS, as by an older kernel: nobody has looked at what it opens.
inline constexpr std::uint32_t youngest_call = 469;

} // namespace berth::local
