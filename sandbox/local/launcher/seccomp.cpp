#include "sandbox/local/launcher/seccomp.hpp"

#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/seccomp_code.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/syscall_rules.hpp"

#include <seccomp.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include <linux/audit.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace berth::local {
namespace {

constexpr const char* step = "seccomp";
constexpr scmp_datum_t low_half = 0xFFFFFFFFU;

class Filter {
  public:
    Filter() : context_(::seccomp_init(SCMP_ACT_ALLOW))
    {
        require(context_ != nullptr, step, "seccomp_init");
        // int 0x80 and x32 reach the same calls under other numbers, past every rule.
        check(::seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
        // A tree instead of a list: few comparisons for each call, wherever its rule stands.
        constexpr std::uint32_t tree = 2;
        check(::seccomp_attr_set(context_, SCMP_FLTATR_CTL_OPTIMIZE, tree));
    }

    ~Filter() { ::seccomp_release(context_); }

    Filter(const Filter&) = delete;
    Filter& operator=(const Filter&) = delete;

    void add(const SyscallRule& rule)
    {
        std::array<scmp_arg_cmp, std::tuple_size_v<decltype(rule.tests)>> tests{};
        unsigned count = 0;
        for (const Argument& test : rule.tests) {
            if (test.test != Argument::Test::none) {
                tests.at(count++) = comparison(test);
            }
        }
        check(::seccomp_rule_add_array(context_, SCMP_ACT_ERRNO(static_cast<unsigned>(rule.error)),
                                       rule.number, count, tests.data()));
    }

    [[nodiscard]] FilterProgram program() const
    {
        // Not by a file, also not one in memory: what is above RLIMIT_FSIZE would be missing, and
        // libseccomp not say so. A socket takes it all at once, a pipe may have a page.
        auto [from, to] = make_socket_pair();
        check(::seccomp_export_bpf(context_, to.get()));
        to.reset();
        FilterProgram program(BPF_MAXINSNS);
        const auto size = read_full(from.get(), program.data(), BPF_MAXINSNS * sizeof(sock_filter));
        require(size > 0 && size % sizeof(sock_filter) == 0, step, "read the system call filter");
        program.resize(size / sizeof(sock_filter));
        program.shrink_to_fit();
        return program;
    }

  private:
    static scmp_arg_cmp comparison(const Argument& test)
    {
        switch (test.test) {
        case Argument::Test::equals:
            return {test.index, SCMP_CMP_MASKED_EQ, low_half, test.value};
        case Argument::Test::has_bits:
            return {test.index, SCMP_CMP_MASKED_EQ, test.value, test.value};
        case Argument::Test::above:
            return {test.index, SCMP_CMP_GT, test.value, 0};
        case Argument::Test::not_zero:
        case Argument::Test::none:
            break;
        }
        return {test.index, SCMP_CMP_NE, 0, 0};
    }

    static void check(int result)
    {
        if (result != 0) {
            throw Failure(step, -result, "build the system call filter");
        }
    }

    scmp_filter_ctx context_;
};

/// What libseccomp cannot say, in front of its program: ranges of numbers, and a list of values.
FilterProgram front()
{
    using namespace berth::seccomp; // NOLINT(google-build-using-namespace): its instructions
    constexpr std::uint32_t no_call = 0xFFFFFFFFU; // a tracer's way to leave a call out
    FilterProgram code;
#ifdef __x86_64__
    constexpr std::uint32_t first_of_x32 = 0x40000000U;
    constexpr std::uint32_t last_of_old = 336; // uprobe, Linux 6.18
    constexpr std::uint32_t first_of_new = 424;
    // READ_IMPLIES_EXEC and MMAP_PAGE_ZERO undo what exploits have to overcome. What is left is
    // what `setarch`, gdb and ASan ask for: UNAME26, ADDR_NO_RANDOMIZE, PER_LINUX32's uname.
    constexpr std::uint32_t harmless = 0x0020000U | 0x0040000U | 0x0000008U;
    constexpr std::uint32_t query = 0xFFFFFFFFU;
    code = {
        load(offsetof(seccomp_data, arch)),
        jump(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        kill_process(),
        load(offsetof(seccomp_data, nr)),
        jump(BPF_JMP | BPF_JEQ | BPF_K, no_call, 0, 1),
        allow(),
        jump(BPF_JMP | BPF_JGE | BPF_K, first_of_x32, 0, 1),
        kill_process(),
        jump(BPF_JMP | BPF_JGT | BPF_K, youngest_call, 2, 0),
        jump(BPF_JMP | BPF_JGE | BPF_K, first_of_new, 2, 0),
        jump(BPF_JMP | BPF_JGT | BPF_K, last_of_old, 0, 1),
        refuse(ENOSYS),
        jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 5),
        load_argument(0),
        jump(BPF_JMP | BPF_JEQ | BPF_K, query, 2, 0),
        jump(BPF_JMP | BPF_JSET | BPF_K, ~harmless, 0, 1),
        refuse(EPERM),
        allow(),
    };
#else
    code = {
        load(offsetof(seccomp_data, nr)),
        jump(BPF_JMP | BPF_JEQ | BPF_K, no_call, 2, 0),
        jump(BPF_JMP | BPF_JGT | BPF_K, youngest_call, 0, 1),
        refuse(ENOSYS),
    };
#endif
    return code;
}

/// RLIMIT_CORE stays what rlimits.cpp has set: at 0, which a program may always set, the kernel
/// runs what the host's core_pattern names on the program's crash. Who lowers it wants no core
/// file, and gets none; gpg and others end where that is refused. Whoever asks for the old limit by
/// the same call would have to be told it. Begins and ends with the number loaded.
FilterProgram core_limit()
{
    using namespace berth::seccomp; // NOLINT(google-build-using-namespace): its instructions
    constexpr int as_if_done = 0;
    return {
#ifdef SYS_setrlimit
        jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_setrlimit, 0, 3),
        load_argument(0),
        jump(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CORE, 13, 0),
        load(offsetof(seccomp_data, nr)),
#endif
        jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 13),
        load_argument(1),
        jump(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CORE, 0, 10),
        load_argument(2), // the new limit
        jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2),
        load_upper_half(2),
        jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 6, 0),
        load_argument(3), // room for the old one
        jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2),
        load_upper_half(3),
        jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        refuse(EPERM),
        refuse(as_if_done),
        load(offsetof(seccomp_data, nr)),
    };
}

/// socket(2) by types, which stand for a protocol that is not named: DCCP's module is loaded for
/// its type too, an inet socket of the type PACKET is one of that family, and of inet's protocols
/// SCTP alone has SEQPACKET. Flags stand above a type. Begins and ends with the number loaded, or
/// what is none of socket(2).
FilterProgram socket_types()
{
    using namespace berth::seccomp; // NOLINT(google-build-using-namespace): its instructions
    constexpr std::uint32_t type_bits = 0xF;
    return {
        jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 8),
        load_argument(1),
        statement(BPF_ALU | BPF_AND | BPF_K, type_bits),
        jump(BPF_JMP | BPF_JEQ | BPF_K, SOCK_DCCP, 4, 0),
        jump(BPF_JMP | BPF_JEQ | BPF_K, SOCK_PACKET, 3, 0),
        jump(BPF_JMP | BPF_JEQ | BPF_K, SOCK_SEQPACKET, 0, 3),
        load_argument(0),
        jump(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
        refuse(EPERM),
    };
}

} // namespace

FilterProgram compile_filter(bool forbid_namespaces)
{
    Filter filter;
    for (const SyscallRule& rule : refused_calls(forbid_namespaces)) {
        filter.add(rule);
    }
    FilterProgram program = front();
    for (const FilterProgram& part : {core_limit(), socket_types(), filter.program()}) {
        program.insert(program.end(), part.begin(), part.end());
    }
    return program;
}

void install_filter(const FilterProgram& program)
{
    sock_fprog filter{};
    filter.len = static_cast<unsigned short>(program.size());
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the kernel only reads it
    filter.filter = const_cast<sock_filter*>(program.data());
    require(!program.empty() && sys::seccomp_set_filter(filter) == 0, step,
            "install the system call filter");
}

} // namespace berth::local
