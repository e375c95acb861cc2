#include "sandbox/filter/proxy/send_allowance.hpp"

#include <utility>

namespace berth::filter {

protocol::Denial SendAllowance::denial(std::string target) const
{
    return {.kind = "bytes",
            .target = std::move(target),
            .reason = "this sandbox has sent the " + std::to_string(most_) +
                      " bytes that it may send through its network",
            .remedy = "Trying again does not help. The operator of this sandbox can allow more "
                      "(filter.max_sent)."};
}

} // namespace berth::filter
