#pragma once

#include <stdexcept>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace berth::tests {

/// While it lives this process can open `spare` more descriptors and then none, as in a server that
/// has used up its limit.
class DescriptorLimit {
  public:
    explicit DescriptorLimit(unsigned spare = 0)
    {
        const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (lowest < 0 || ::getrlimit(RLIMIT_NOFILE, &before_) != 0) {
            throw std::runtime_error("look at the limit of descriptors");
        }
        ::close(lowest);
        rlimit now = before_;
        now.rlim_cur = static_cast<rlim_t>(lowest) + spare;
        if (::setrlimit(RLIMIT_NOFILE, &now) != 0) {
            throw std::runtime_error("set the limit of descriptors");
        }
    }

    ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

    DescriptorLimit(const DescriptorLimit&) = delete;
    DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  private:
    rlimit before_{};
};

} // namespace berth::tests
