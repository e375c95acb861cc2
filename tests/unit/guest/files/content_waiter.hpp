#pragma once

#include "sandbox/guest/files/content_lock.hpp"

#include <stop_token>

namespace berth::guest::testing {

/// Whether somebody waits to write `file` in place, while the caller holds a shared lock of it:
/// then no further reader is let in.
inline bool a_writer_waits(int file)
{
    std::stop_source stopped;
    stopped.request_stop();
    return !ContentLock(file, ContentLock::Kind::shared, stopped.get_token()).owns();
}

} // namespace berth::guest::testing
