#include "sandbox/local/launcher/fresh_stack.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <ucontext.h>

namespace berth::local {
namespace {

void* stack_top = nullptr;

/// makecontext() hands over no pointers; in a variable they would cost a page of each guest.
struct Halves {
    explicit Halves(std::uint64_t whole) noexcept
        : upper(static_cast<std::uint32_t>(whole >> 32U)), lower(static_cast<std::uint32_t>(whole))
    {
    }

    std::uint32_t upper;
    std::uint32_t lower;
};

std::uint64_t whole(std::uint32_t upper, std::uint32_t lower) noexcept
{
    return std::uint64_t{upper} << 32U | lower;
}

void begin(std::uint32_t work_upper, std::uint32_t work_lower, std::uint32_t argument_upper,
           std::uint32_t argument_lower)
{
    // NOLINTBEGIN(performance-no-int-to-ptr): what were pointers
    auto* const work = reinterpret_cast<void (*)(void*)>(whole(work_upper, work_lower));
    work(reinterpret_cast<void*>(whole(argument_upper, argument_lower)));
    // NOLINTEND(performance-no-int-to-ptr)
    std::abort(); // it does not return
}

} // namespace

void note_stack_top(void* frame) noexcept
{
    stack_top = frame;
}

void run_on_fresh_stack(void (*work)(void* argument), void* argument) noexcept
{
    ucontext_t context{};
    if (stack_top != nullptr && ::getcontext(&context) == 0) {
        constexpr std::size_t any = 65536; // only where it ends, the top, is of interest
        context.uc_stack.ss_sp = static_cast<char*>(stack_top) - any;
        context.uc_stack.ss_size = any;
        context.uc_link = nullptr;
        const Halves first(reinterpret_cast<std::uintptr_t>(work));
        const Halves second(reinterpret_cast<std::uintptr_t>(argument));
        ::makecontext(&context, reinterpret_cast<void (*)()>(begin), 4, first.upper, first.lower,
                      second.upper, second.lower);
        ::setcontext(&context);
    }
    work(argument); // as well, with more memory
    std::abort();
}

} // namespace berth::local
