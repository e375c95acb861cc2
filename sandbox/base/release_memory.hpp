#pragma once

#include <utility>

namespace berth {

/// Replaces `value` by `by`, and frees what it had. An assignment does not where `by` is small:
/// std::string keeps its own buffer then, for as long as it lives.
template <class Value>
void release_memory(Value& value, Value by = {})
{
    [[maybe_unused]] const Value old = std::exchange(value, std::move(by));
}

} // namespace berth
