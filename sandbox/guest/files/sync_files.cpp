#include "sandbox/guest/files/sync_files.hpp"

#include "sandbox/base/descriptors.hpp"
#include "sandbox/guest/operations.hpp"

#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {

std::uint32_t sync_file_systems(const std::vector<std::string>& paths,
                                const std::function<bool(int)>& sync)
{
    std::set<dev_t> tried;
    std::uint32_t written = 0;
    for (const auto& path : paths) {
        const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        struct stat found{};
        if (!fd || ::fstat(fd.get(), &found) != 0 || !tried.insert(found.st_dev).second) {
            continue;
        }
        if (sync(fd.get())) {
            ++written;
        }
    }
    return written;
}

protocol::SyncReply sync_files(const protocol::Empty& /*request*/, const CallContext& context)
{
    return {.file_systems = sync_file_systems({context.config.home, "/", "/tmp"},
                                              [](int fd) { return ::syncfs(fd) == 0; })};
}

} // namespace berth::guest
