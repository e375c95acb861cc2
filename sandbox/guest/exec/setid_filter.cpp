#include "sandbox/guest/exec/setid_filter.hpp"

#include "sandbox/base/seccomp_code.hpp"

#include <cerrno>
#include <cstdint>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace berth::guest {
namespace {

// fchmodat2(2), Linux 6.6, has this number everywhere; Debian 12's headers do not know it.
constexpr std::uint32_t number_of_fchmodat2 = 452;
constexpr std::uint32_t bits = S_ISUID | S_ISGID;
/// O_TMPFILE without O_DIRECTORY, which it contains.
constexpr std::uint32_t creating = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);

using namespace berth::seccomp; // NOLINT(google-build-using-namespace): its instructions

class Program {
  public:
    void refuse_mode(std::uint32_t call, unsigned mode)
    {
        add(call,
            {load_argument(mode), jump(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), refuse(EPERM)});
    }

    /// The mode counts only with flags that make a file.
    void refuse_mode_of_new(std::uint32_t call, unsigned flags, unsigned mode)
    {
        add(call,
            {load_argument(flags), jump(BPF_JMP | BPF_JSET | BPF_K, creating, 0, 3),
             load_argument(mode), jump(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), refuse(EPERM)});
    }

    void remove(std::uint32_t call) { add(call, {refuse(ENOSYS)}); }

    [[nodiscard]] std::vector<sock_filter> finish()
    {
        code_.push_back(allow());
        return std::move(code_);
    }

  private:
    /// `body` is for that call alone; what falls out of it goes on with the next rule.
    void add(std::uint32_t call, const std::vector<sock_filter>& body)
    {
        code_.push_back(load(offsetof(seccomp_data, nr)));
        code_.push_back(
            jump(BPF_JMP | BPF_JEQ | BPF_K, call, 0, static_cast<unsigned>(body.size())));
        code_.insert(code_.end(), body.begin(), body.end());
    }

    std::vector<sock_filter> code_;
};

std::vector<sock_filter> make_program()
{
    Program program;
    program.refuse_mode(SYS_fchmod, 1);
    program.refuse_mode(SYS_fchmodat, 2);
    program.refuse_mode(number_of_fchmodat2, 2);
    program.refuse_mode(SYS_mknodat, 2);
    program.refuse_mode_of_new(SYS_openat, 2, 3);
#ifdef SYS_open // younger architectures have only the calls with "at"
    program.refuse_mode(SYS_chmod, 1);
    program.refuse_mode(SYS_creat, 1);
    program.refuse_mode(SYS_mknod, 1);
    program.refuse_mode_of_new(SYS_open, 1, 2);
#endif
    program.remove(SYS_openat2);
    program.remove(SYS_io_uring_setup);
    return program.finish();
}

} // namespace

const sock_fprog& setid_filter()
{
    static std::vector<sock_filter> code = make_program();
    static const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    return program;
}

} // namespace berth::guest
