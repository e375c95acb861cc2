#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace berth::tests {

/// What `action` writes to the descriptor, in place of where that goes.
template <class Action>
std::string captured(int descriptor, Action&& action)
{
    const UniqueFd saved(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
    const UniqueFd file(::memfd_create("captured", MFD_CLOEXEC));
    if (!saved || !file || ::dup2(file.get(), descriptor) < 0) {
        throw std::runtime_error("a descriptor cannot be captured");
    }
    try {
        std::forward<Action>(action)();
    } catch (...) {
        ::dup2(saved.get(), descriptor);
        throw;
    }
    ::dup2(saved.get(), descriptor);
    std::string text;
    std::array<char, 4096> piece{};
    for (off_t at = 0;;) {
        const auto count = ::pread(file.get(), piece.data(), piece.size(), at);
        if (count <= 0) {
            return text;
        }
        text.append(piece.data(), static_cast<std::size_t>(count));
        at += count;
    }
}

} // namespace berth::tests
