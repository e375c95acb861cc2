#pragma once

#include "sandbox/guest/workers.hpp"

#include <latch>

namespace berth::guest::test {

/// Workers whose only one hangs, as one that looks at a disk which does not answer, until it is
/// released, or until the end.
struct HungWorker {
    std::latch released{1};
    Workers workers{{.most = 1}};

    HungWorker()
    {
        workers.run([this] { released.wait(); });
    }

    ~HungWorker() { release(); }

    HungWorker(const HungWorker&) = delete;
    HungWorker& operator=(const HungWorker&) = delete;

    void release()
    {
        if (!released.try_wait()) {
            released.count_down();
        }
    }
};

} // namespace berth::guest::test
