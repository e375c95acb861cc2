#include "sandbox/guest/exec/written_bytes.hpp"

#include "sandbox/base/unique_fd.hpp"

#include <array>
#include <charconv>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace berth::guest {

std::uint64_t parse_written_bytes(std::string_view text) noexcept
{
    // With the line's end before it: "cancelled_write_bytes: " is another one.
    constexpr std::string_view name = "\nwrite_bytes: ";
    const auto at = text.find(name);
    if (at == std::string_view::npos) {
        return 0;
    }
    std::uint64_t value = 0;
    const std::string_view digits = text.substr(at + name.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

std::uint64_t written_bytes(pid_t pid)
{
    const UniqueFd file(
        ::open(("/proc/" + std::to_string(pid) + "/io").c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        return 0;
    }
    std::array<char, 512> text; // seven lines of at most forty bytes
    const ssize_t size = ::read(file.get(), text.data(), text.size());
    return size > 0
               ? parse_written_bytes(std::string_view(text.data(), static_cast<std::size_t>(size)))
               : 0;
}

} // namespace berth::guest
