#pragma once

#include "sandbox/protocol/messages.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace berth::guest {

/// Of a guest that ends itself, for its note (protocol/parting.hpp): the commands of which nobody
/// was told how they ended, those that run yet too. The latest few, with the beginnings of their
/// texts; how many more there are. Empty where all was told.
[[nodiscard]] std::string last_words(std::vector<protocol::JobEntry> jobs,
                                     std::vector<protocol::JobEntry> ended,
                                     std::uint32_t forgotten);

} // namespace berth::guest
