#pragma once

#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/protocol/messages.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace berth::guest {

/// The home, and each writable mount: whatever else can be written is thrown away with the machine,
/// and nobody outside obeys it.
[[nodiscard]] std::vector<std::string> protected_roots(const protocol::GuestConfig& config);

/// Whether `path`, which is where a file really is, is one of them.
[[nodiscard]] bool is_protected(std::string_view path, const protocol::Protection& protection,
                                const protocol::GuestConfig& config);

/// Whether it lies in a folder that is protected whole.
[[nodiscard]] bool is_in_whole_folder(std::string_view path,
                                      const protocol::Protection& protection);

/// What lies in a folder of which all is protected, and is not: git's examples of hooks, which each
/// new repository has and nobody runs.
[[nodiscard]] bool is_example(std::string_view name) noexcept;

} // namespace berth::guest
