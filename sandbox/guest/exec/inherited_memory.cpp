#include "sandbox/guest/exec/inherited_memory.hpp"

#include "sandbox/base/sanitizer.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

// Runs after a clone without exec: no allocation, no lock, no exception.

namespace berth::guest {
namespace {

// More than a shim uses, and little more: a program that is linked statically has its thread-local
// storage at the beginning of its heap, and a launcher's guest its stack near by. What a command
// got in its environment would lie there for as long as that runs.
constexpr std::uintptr_t stack_below = 64UL * 1024;
constexpr std::uintptr_t stack_above = 8UL * 1024; ///< whose functions never return
constexpr std::uintptr_t local_around = 8UL * 1024;

struct Range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
};

/// One line of /proc/PID/maps (proc_pid_maps(5)).
struct Mapping {
    Range range;
    bool is_writable = false;
    bool is_private = false;
    bool has_file = false;
    bool is_special = false; ///< "[stack]" and the like, but not "[heap]"
};

class MapsReader {
  public:
    MapsReader() noexcept : fd_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}

    ~MapsReader()
    {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }

    MapsReader(const MapsReader&) = delete;
    MapsReader& operator=(const MapsReader&) = delete;

    /// False at the end.
    bool next(Mapping& mapping) noexcept
    {
        mapping = {};
        mapping.range.begin = number(16);
        mapping.range.end = number(16);
        (void)next_char(); // r
        mapping.is_writable = next_char() == 'w';
        (void)next_char(); // x
        mapping.is_private = next_char() == 'p';
        (void)next_char();
        (void)number(16); // the offset
        (void)number(16); // major and
        (void)number(16); // minor number of the device
        (void)number(10); // the inode
        read_name(mapping);
        return !at_end_;
    }

  private:
    /// Up to the character after it.
    std::uintptr_t number(unsigned base) noexcept
    {
        std::uintptr_t value = 0;
        for (;;) {
            last_ = next_char();
            const bool is_letter = last_ >= 'a' && last_ <= 'f';
            if ((last_ < '0' || last_ > '9') && !is_letter) {
                return value;
            }
            value =
                value * base + static_cast<unsigned>(is_letter ? last_ - 'a' + 10 : last_ - '0');
        }
    }

    /// Behind blanks; none for anonymous memory.
    void read_name(Mapping& mapping) noexcept
    {
        char before = ' ';
        for (char c = last_; c != '\n' && !at_end_; c = next_char()) {
            if (before == ' ' && c == '/') {
                mapping.has_file = true;
            } else if (before == '[') {
                mapping.is_special = c != 'h';
            }
            before = c;
        }
    }

    char next_char() noexcept
    {
        if (position_ == size_) {
            const ssize_t size = fd_ < 0 ? 0 : ::read(fd_, buffer_.data(), buffer_.size());
            if (size <= 0) {
                at_end_ = true;
                return '\n';
            }
            size_ = static_cast<std::size_t>(size);
            position_ = 0;
        }
        return buffer_[position_++];
    }

    int fd_;
    char last_ = '\0';
    bool at_end_ = false;
    std::array<char, 4096> buffer_{};
    std::size_t size_ = 0;
    std::size_t position_ = 0;
};

void drop(const Range& range) noexcept
{
    if (range.begin < range.end) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): as /proc has it
        ::madvise(reinterpret_cast<void*>(range.begin), range.end - range.begin, MADV_DONTNEED);
    }
}

/// Drops what of the range lies outside of both kept ones, of which `low` is the lower.
void drop_around(Range range, const Range& low, const Range& high) noexcept
{
    for (const Range& kept : {low, high}) {
        if (kept.end <= range.begin || kept.begin >= range.end) {
            continue;
        }
        drop({range.begin, kept.begin});
        range.begin = kept.end;
    }
    drop(range);
}

Range around(const void* place, std::uintptr_t below, std::uintptr_t above) noexcept
{
    const auto page = static_cast<std::uintptr_t>(::getpagesize());
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    return {(address - below) & ~(page - 1), (address + above + page - 1) & ~(page - 1)};
}

} // namespace

void drop_inherited_memory() noexcept
{
    if constexpr (has_sanitizer) {
        return;
    }
    const Range stack = around(__builtin_frame_address(0), stack_below, stack_above);
    const Range local = around(&errno, local_around, local_around);
    const bool stack_is_lower = stack.begin < local.begin;
    MapsReader maps;
    std::uintptr_t data_end = 0; // of a file's mapping; static data without values follow it
    for (Mapping mapping; maps.next(mapping);) {
        if (mapping.has_file) {
            data_end = mapping.range.end;
            continue;
        }
        const bool is_static = mapping.range.begin == data_end;
        if (mapping.is_writable && mapping.is_private && !is_static && !mapping.is_special) {
            drop_around(mapping.range, stack_is_lower ? stack : local,
                        stack_is_lower ? local : stack);
        }
    }
}

} // namespace berth::guest
