#pragma once

#include <string>

namespace berth::local {

/// Removes `name` in the directory `at` and all below it. Its content may be hostile: links are
/// removed and never followed, folders without permissions are opened up, any depth works with a
/// bounded stack. Nobody may change the tree meanwhile, but no change leads out of it. True when
/// nothing is left.
bool remove_tree(int at, const std::string& name) noexcept;

} // namespace berth::local
