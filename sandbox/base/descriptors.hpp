#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

/// The kernel takes no more in one message (SCM_MAX_FD).
inline constexpr std::size_t max_descriptors = 253;

/// A memfd that holds `content`, read from its beginning; `name` is for /proc only. What must reach
/// another program and no disk goes this way. Throws std::system_error.
[[nodiscard]] UniqueFd make_memory_file(const char* name, std::string_view content);

/// Two unix sockets (SOCK_STREAM) that are each other's ends, close-on-exec. Throws
/// std::system_error.
[[nodiscard]] std::pair<UniqueFd, UniqueFd> make_socket_pair();

/// Sends `bytes`, at least one, and copies of the descriptors over a unix socket in one message.
/// False when the other end is gone or takes no more.
[[nodiscard]] bool send_descriptors(int socket, std::string_view bytes,
                                    const std::vector<int>& descriptors);

struct DescriptorMessage {
    std::string bytes; ///< empty: the other end is gone
    std::vector<UniqueFd> descriptors;
};

/// Waits for what send_descriptors() sent in one message of at most `size` bytes. The descriptors
/// are close-on-exec. Throws std::system_error; also when some of them did not fit.
[[nodiscard]] DescriptorMessage receive_descriptors(int socket, std::size_t size);

} // namespace berth
