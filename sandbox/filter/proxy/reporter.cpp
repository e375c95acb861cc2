#include "sandbox/filter/proxy/reporter.hpp"

#include "sandbox/base/visible.hpp"
#include "sandbox/protocol/wire.hpp"

#include <cstddef>
#include <exception>
#include <string>
#include <utility>

#include <sys/socket.h>

namespace berth::filter {

void Reporter::tell(protocol::Denial denial) const noexcept
{
    // A name of the DNS has 253 bytes; what came in its place may be anything.
    constexpr std::size_t longest_target = 300;
    try {
        denial.target = visible_beginning(denial.target, longest_target, " …");
        const std::string message = protocol::encode(denial);
        (void)::send(control_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    } catch (const std::exception&) {
        return; // no memory: the client is refused without a word to the guest
    }
}

} // namespace berth::filter
