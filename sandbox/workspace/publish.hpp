#pragma once

#include "sandbox/workspace/stored_file.hpp"

#include <stop_token>
#include <string>
#include <vector>

namespace berth::workspace {

/// As Store::commit().
void publish(const std::vector<StoredWriter*>& writers, const std::stop_token& stop);

/// Error(conflict): a file is there, or a folder with files in it.
[[noreturn]] void refuse_existing(const std::string& path);
[[noreturn]] void refuse_folder(const std::string& path);

} // namespace berth::workspace
