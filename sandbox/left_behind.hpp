#pragma once

#include "sandbox/base/error.hpp"

namespace berth::sandbox {

/// Of the making of a machine: it came to nothing, and what was made by then may still be there. By
/// its generation it is found, so the books must not forget that.
class LeftBehind : public Error {
  public:
    explicit LeftBehind(const Error& cause) : Error(cause) {}
};

} // namespace berth::sandbox
